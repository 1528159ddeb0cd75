console.log('the cart has loaded');
console.info('three things are in it');
console.warn('the price of the lamp has changed');
console.error('the chair is out of stock');
console.log('the table comes on Friday');
fetch('/api/items?page=1');
