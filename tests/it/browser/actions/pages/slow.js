function computeSlowly(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
computeSlowly(120);
document.querySelector('#slow').onclick = () => {
  computeSlowly(220);
  document.body.append('done');
  // The browser notes an interaction once it is painted.
  new PerformanceObserver(() => { window.painted = true; }).observe({ type: 'event', durationThreshold: 100 });
};
