// @ts-check
// Values as fields without text take them, from the ways in which agents write them. Pure.

const pad = (/** @type {string | number} */ number) => String(number).padStart(2, '0');

/** @param {string} text @returns {string | undefined} */
function dateOf(text) {
  const [, year, month, day] = /^(\d{4,6})[-/.](\d{1,2})[-/.](\d{1,2})$/.exec(text) ?? [];
  return year && `${year}-${pad(month)}-${pad(day)}`;
}

/** @param {string} text @returns {string | undefined} */
function timeOf(text) {
  const [all, hours, minutes, seconds = '', half] = /^(\d{1,2}):(\d{2})(:\d{2}(?:\.\d{1,3})?)?\s*([ap]\.?m\.?)?$/i.exec(text) ?? [];
  if (all === undefined) return undefined;
  if (half === undefined) return `${pad(hours)}:${minutes}${seconds}`;
  if (Number(hours) < 1 || Number(hours) > 12) return undefined;
  return `${pad((Number(hours) % 12) + (/^p/i.test(half) ? 12 : 0))}:${minutes}${seconds}`;
}

/** @param {string} text @returns {string | undefined} */
function dateTimeOf(text) {
  const [, day, time] = /^([\d./-]+)(?:T|,?\s+)(.+?)$/.exec(text) ?? [];
  const [date, clock] = [dateOf(day ?? ''), timeOf(time ?? '')];
  return date && clock && `${date}T${clock}`;
}

/** @param {string} text @returns {string | undefined} */
function colorOf(text) {
  const [, short] = /^#([0-9a-f]{3})$/i.exec(text) ?? [];
  if (short) return `#${Array.from(short, (digit) => digit + digit).join('')}`.toLowerCase();
  if (/^#[0-9a-f]{6}$/i.test(text)) return text.toLowerCase();
  const [, ...parts] = /^rgb\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*\)$/i.exec(text) ?? [];
  if (parts.length === 3 && parts.every((part) => Number(part) <= 255)) return `#${parts.map((part) => Number(part).toString(16).padStart(2, '0')).join('')}`;
  return /^[a-z]+$/i.test(text) ? namedColor(text) : undefined;
}

/** @param {string} name @returns {string | undefined} */
function namedColor(name) {
  // Names of colours are the browser's.
  const canvas = typeof OffscreenCanvas === 'undefined' ? null : new OffscreenCanvas(1, 1).getContext('2d');
  if (!canvas) return undefined;
  const read = (/** @type {string} */ before) => {
    canvas.fillStyle = before;
    canvas.fillStyle = name;
    return canvas.fillStyle;
  };
  // A name that is none leaves the colour as it was.
  return read('#000000') === read('#ffffff') ? read('#000000') : undefined;
}

/** @type {Record<string, {read: (text: string) => string | undefined, form: string}>} */
const KINDS = {
  date: { read: (text) => dateOf(text) ?? dateTimeOf(text)?.replace(/T.*/, ''), form: 'a date such as 2026-11-23' },
  time: { read: timeOf, form: 'a time such as 14:30' },
  'datetime-local': { read: dateTimeOf, form: 'a date and time such as 2026-11-23T14:30' },
  month: { read: (text) => /^\d{4,6}-\d{2}$/.exec(text)?.[0] ?? dateOf(`${text}-1`)?.slice(0, -3), form: 'a month such as 2026-11' },
  week: { read: (text) => { const [, year, week] = /^(\d{4,6})-?W(\d{1,2})$/i.exec(text) ?? []; return year && `${year}-W${pad(week)}`; }, form: 'a week such as 2026-W48' },
  color: { read: colorOf, form: 'a colour such as #ff8800' },
  range: { read: (text) => (text !== '' && Number.isFinite(Number(text)) ? String(Number(text)) : undefined), form: 'a number' },
};

/** @param {string} type of an input @returns {string} the form of its values, in words */
export function formOfValue(type) {
  return KINDS[type]?.form ?? 'a text';
}

/**
 * @param {string} type of an input @param {string} text
 * @returns {string | undefined} as the browser takes it; undefined: the text is none of its values
 */
export function fieldValue(type, text) {
  const wanted = text.trim();
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (!kind) return text;
  // A range and a colour always have a value.
  return wanted === '' && type !== 'range' && type !== 'color' ? '' : kind.read(wanted);
}
