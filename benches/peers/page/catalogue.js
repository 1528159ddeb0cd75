const makers = ['Aalto', 'Berg', 'Crane', 'Dahl'];
const items = document.querySelector('#items');
for (let n = 1; n <= 24; n += 1) {
  const kind = n % 2 ? 'lamp' : 'chair';
  const item = document.createElement('li');
  item.innerHTML = `<img src="/picture.svg?${n}" alt=""><h2><a href="/catalogue.html?item=${n}">${makers[n % 4]} ${kind} ${n}</a></h2>`
    + `<p>A ${kind} of oak and steel.</p><p>${40 + n * 7} €</p><button>Add to cart</button>`;
  item.querySelector('button').onclick = ({ target }) => { target.textContent = 'In the cart'; };
  items.append(item);
}
