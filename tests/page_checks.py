"""What a checker of accessible pages looks at, as scripts that return what is wrong."""

# Every field has a label, every button and link a name, every picture a text, ids are used once,
# headings go down by one, the page has a language, a title and one main part.
LABELS = """
const wrong = [];
const name = (e) => e.getAttribute('aria-label') || e.textContent.trim() ||
  (e.labels && [...e.labels].map((l) => l.textContent.trim()).join(' '));
for (const e of document.querySelectorAll('input, select, textarea, progress'))
  if (!e.getAttribute('aria-label') && !(e.labels && e.labels.length && name(e.labels[0])))
    wrong.push('no label: ' + e.outerHTML.slice(0, 80));
for (const e of document.querySelectorAll('button, a, summary'))
  if (!name(e)) wrong.push('no name: ' + e.outerHTML.slice(0, 80));
for (const e of document.querySelectorAll('svg'))
  if (!['img', 'group'].includes(e.getAttribute('role')) || !e.getAttribute('aria-label'))
    wrong.push('picture without a text');
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
if (new Set(ids).size !== ids.length) wrong.push('an id occurs twice');
for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for]'))
  for (const id of (e.getAttribute('aria-labelledby') || e.getAttribute('aria-describedby') ||
      e.getAttribute('for')).split(' '))
    if (!document.getElementById(id)) wrong.push('refers to nothing: ' + id);
let level = 0;
for (const e of document.querySelectorAll('h1, h2, h3')) {
  const at = Number(e.tagName[1]);
  if (at > level + 1) wrong.push('heading skips: ' + e.textContent);
  level = at;
}
if (!document.documentElement.lang || !document.title) wrong.push('no language or title');
if (document.querySelectorAll('main').length !== 1) wrong.push('not one main part');
for (const e of document.querySelectorAll('[tabindex]'))
  if (e.tabIndex > 0) wrong.push('an order of tabs of its own');
return wrong;
"""

# Text against the nearest ground that is painted: 4.5 to 1, as WCAG 2 AA asks of small text.
CONTRAST = """
const wrong = new Set();
const parts = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((c) => {
    c /= 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const ground = (e) => {
  for (let at = e; at; at = at.parentElement) {
    const found = parts(getComputedStyle(at).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
const ratio = (one, two) => {
  const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const check = (e, ink, paper) => {
  const found = ratio(parts(ink), paper);
  if (found < 4.5) wrong.add(found.toFixed(2) + ': ' + e.textContent.trim().slice(0, 40));
};
for (const e of document.querySelectorAll('body *')) {
  const style = getComputedStyle(e);
  if (style.visibility === 'hidden' || !e.getClientRects().length) continue;
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest('svg') || e.closest('noscript') || e.disabled) continue;
  check(e, style.color, ground(e));
}
for (const e of document.querySelectorAll('svg text')) {
  const rect = e.parentElement.querySelector('rect');
  const paper = rect && e.parentElement.tagName === 'g'
    ? parts(getComputedStyle(rect).fill) : ground(e.closest('svg').parentElement);
  if (e.textContent) check(e, getComputedStyle(e).fill, paper);
}
return [...wrong];
"""
