// @ts-check
// Short lists beside the long one.

/** The list is made anew only if it says something else, and not while a button in it is pressed: the click would be lost. @param {HTMLElement} list @param {unknown} about @param {() => Node[]} make */
export function renew(list, about, make) {
  const text = JSON.stringify(about);
  if (list.dataset.about === text || list.querySelector(':active')) return;
  list.dataset.about = text;
  list.replaceChildren(...make());
}
