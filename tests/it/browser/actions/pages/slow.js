// Of `?times=4` all takes four times as long.
const times = Number(new URLSearchParams(location.search).get('times') ?? 1);
function computeSlowly(ms) {
  const end = performance.now() + ms * times;
  while (performance.now() < end);
}
computeSlowly(120);
document.querySelector('#slow').onclick = () => {
  computeSlowly(220);
  document.body.append('done');
  // The browser notes an interaction once it is painted.
  new PerformanceObserver(() => { window.painted = true; }).observe({ type: 'event', durationThreshold: 100 });
};
