/** A line of a terminal, and the time at which it appears, in seconds from the start. */
export type TimedLine = { readonly atS: number; readonly text: string }

const COLUMNS = 104
const [CHARACTER, LINE, MARGIN, BAR] = [7.8, 19, 18, 34]
/** Seconds for which the complete output stays before it begins again. */
const REST_S = 8

/** Styles of a line, each with a pattern for the beginning of the line. The first matching pattern counts. */
const STYLES: ReadonlyArray<readonly [pattern: RegExp, name: string]> = [
  [/^\$ /, 'command'],
  [/^\d\. |^Every |^The demo /, 'heading'],
  [/^ {3}20\d: /, 'good'],
  [/^ {3}403: |DENY/, 'bad'],
  [/^ {3}--yes/, 'wait'],
]

/**
 * Returns an animated SVG in which the lines appear at their times, in the colours of a dark terminal. The SVG shows
 * all lines at once to users who prefer reduced motion. The rest of a long line is on the next line, indented.
 */
export function terminalSvg(lines: readonly TimedLine[], title: string): string {
  const rows = lines.flatMap(({ atS, text }) =>
    wrapped(text).map((part) => ({ atS, part, style: STYLES.find(([pattern]) => pattern.test(text))?.[1] })),
  )
  const [width, height] = [Math.round(COLUMNS * CHARACTER + 2 * MARGIN), BAR + rows.length * LINE + MARGIN]
  const totalS = Math.max(...rows.map(({ atS }) => atS)) + REST_S
  const times = [...new Set(rows.map(({ atS }) => atS))]
  const frames = times.map((atS, index) => {
    const percent = ((atS / totalS) * 100).toFixed(2)
    return `@keyframes t${index}{0%{opacity:0}${percent}%{opacity:0}${(Number(percent) + 0.01).toFixed(2)}%{opacity:1}}`
  })
  const classes = times.map((_, index) => `.t${index}{animation:t${index} ${totalS.toFixed(1)}s infinite}`)
  const texts = rows.map(({ atS, part, style }, index) => {
    const names = [`t${times.indexOf(atS)}`, ...(style === undefined ? [] : [style])].join(' ')
    return `<text x="${MARGIN}" y="${BAR + (index + 1) * LINE}" class="${names}">${escaped(part)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6dae0;white-space:pre}
.command{fill:#fff}.heading{fill:#fff;font-weight:700}.good{fill:#7ee2a0}.bad{fill:#ff9b90}.wait{fill:#ffd28a}
@media (prefers-reduced-motion: no-preference){
${classes.join('\n')}
}
${frames.join('\n')}
</style>
<rect width="100%" height="100%" rx="10" fill="#14171c"/>
${['#ff5f57', '#febc2e', '#28c840'].map((fill, index) => `<circle cx="${20 + index * 18}" cy="18" r="5.5" fill="${fill}"/>`).join('')}
${texts.join('\n')}
</svg>
`
}

/** Breaks a text at blanks. The edge of the terminal cuts off a word that is longer than a line. */
function wrapped(text: string): readonly string[] {
  if (text.length <= COLUMNS) return [text]
  const at = text.lastIndexOf(' ', COLUMNS)
  const indent = /^ */.exec(text)?.[0] ?? ''
  if (at <= indent.length) return [text]
  return [text.slice(0, at), ...wrapped(`${indent}  ${text.slice(at + 1)}`)]
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
