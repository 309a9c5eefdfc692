package cmd

// What a browser is asked about a page: each gives a list of complaints.

// contrast complains of texts that stand out too little from what is behind
// them, by the formula of WCAG 2.
const contrast = `(() => {
	const rgb = s => (s.match(/[\d.]+/g) || []).map(Number);
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length == 3 || c[3] == 1) return c.slice(0, 3); } return [255, 255, 255]; };
	const bad = new Set();
	let seen = 0;
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim())) continue;
		const style = getComputedStyle(e), svg = e instanceof SVGElement;
		if (e.tagName == 'title') continue;
		const a = light(rgb(svg ? style.fill : style.color)), b = light(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		seen++;
		if (ratio < 4.5) bad.add(e.tagName + '.' + (svg ? 'svg' : e.className) + ' ' + ratio.toFixed(2));
	}
	if (seen < 100) bad.add('only ' + seen + ' texts');
	return [...bad];
})()`

const outside = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && getComputedStyle(e).position != 'absolute')
	.map(e => e.tagName + '.' + (e.getAttribute('class') || '')).slice(0, 5)
	.concat(document.documentElement.scrollWidth > innerWidth ? ['scrolls to ' + document.documentElement.scrollWidth] : [])`

// structure complains of what a reader without eyes or mouse would miss.
const structure = `[
	...[...document.querySelectorAll('table')].filter(t => !t.caption || !t.caption.textContent.trim()).map(t => 'a table without caption'),
	...[...document.querySelectorAll('th')].filter(t => !t.scope).map(t => 'a heading without scope: ' + t.textContent),
	...[...document.querySelectorAll('.calendar a.mark')].filter(a => !/ \d{4}-\d\d-\d\d [a-z]/.test(a.getAttribute('aria-label')) || a.tabIndex != 0).map(a => 'a day without words: ' + a.outerHTML),
	...[...document.querySelectorAll('a[href^="#"]')].filter(a => !document.getElementById(a.hash.slice(1))).map(a => 'a link to nowhere: ' + a.hash),
	...[...document.querySelectorAll('svg')].filter(s => s.getAttribute('role') != 'img' || !s.getAttribute('aria-label')).map(s => 'a picture without words'),
	...[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) != i).map(id => 'an id twice: ' + id),
	...(document.documentElement.lang ? [] : ['no language']),
	...[...document.querySelectorAll('*')].filter(e => [...e.childNodes].some(n => n.nodeType == 3 && /\p{sc=Han}/u.test(n.textContent)) && !e.closest('[lang|=zh]')).map(e => 'Chinese without lang: ' + e.textContent),
	...[...document.querySelectorAll('script, img, iframe, link[rel=stylesheet], object, embed, [onerror], [onload]')].map(e => 'not expected: ' + e.tagName),
]`
