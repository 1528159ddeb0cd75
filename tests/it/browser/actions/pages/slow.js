function computeSlowly(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
// Longer than all else that a busy computer makes of a load and a click.
computeSlowly(500);
document.querySelector('#slow').onclick = () => {
  computeSlowly(800);
  document.body.append('done');
  // The browser notes an interaction once it is painted.
  new PerformanceObserver(() => { window.painted = true; }).observe({ type: 'event', durationThreshold: 100 });
};
