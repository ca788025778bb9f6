import { expect, test } from 'vitest'
import { terminalSvg } from '../../scripts/recording/terminal-svg.ts'

const LONG = `   state   ${'word '.repeat(40)}`.trimEnd()

test('each line appears at its time, wrapped and escaped, and stands still for readers who prefer that', () => {
  const svg = terminalSvg(
    [
      { atS: 0, text: '$ npm run demo' },
      { atS: 2, text: '   403: <script> & more' },
      { atS: 2, text: LONG },
    ],
    'title',
  )
  const rows = [...svg.matchAll(/<text [^>]*class="([^"]+)">([^<]*)<\/text>/g)].map(([, names, text]) => [
    names,
    text,
  ])
  expect(rows.slice(0, 2)).toEqual([
    ['t0 command', '$ npm run demo'],
    ['t1 bad', '   403: &lt;script&gt; &amp; more'],
  ])
  const wrapped = rows.slice(2).map(([, text]) => text ?? '')
  expect(wrapped.length).toBeGreaterThan(1)
  for (const text of wrapped) expect(text.length).toBeLessThanOrEqual(104)
  expect(wrapped.map((text) => text.trim()).join(' ')).toBe(LONG.trim())
  // 2 s of 10 s, the rest of which shows everything.
  expect(svg).toContain('@keyframes t1{0%{opacity:0}20.00%{opacity:0}20.01%{opacity:1}}')
  expect(svg).toMatch(/no-preference\)\{\n(\.t\d\{animation:[^}]+\}\n)+\}/)
  expect(svg.replace(/@media [\s\S]*?\n\}\n/, '')).not.toContain('animation')
})
