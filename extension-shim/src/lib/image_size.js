// @ts-check
// Width and height of a picture, read from its own header.

/** @param {string} base64 PNG or JPEG @returns {{width: number, height: number}} */
export function imageSize(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const isPng = view.getUint32(0) === 0x89504e47;
  return isPng ? { width: view.getUint32(16), height: view.getUint32(20) } : jpegSize(view);
}

/** Walks the segments to the frame header (SOF). @param {DataView} view */
function jpegSize(view) {
  let at = 2;
  while (at + 9 < view.byteLength) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return { width: 0, height: 0 };
}
