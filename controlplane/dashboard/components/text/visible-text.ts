/**
 * A run of plain text, or one character that is invisible or moves other characters. `at`: offset of the segment in
 * UTF-16 code units.
 */
export type Segment =
  | { readonly kind: 'text'; readonly at: number; readonly text: string }
  | { readonly kind: 'hidden'; readonly at: number; readonly code: string; readonly name: string }

/**
 * Matches control and format characters, bidirectional controls, spaces other than U+0020, unassigned and private-use
 * characters, variation selectors and fillers. `isPlain` handles line breaks and tabs.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}\u115F\u1160\u2800\u3164\uFFA0]|\p{Variation_Selector}|\u034F|\u17B4|\u17B5|(?! )\p{Zs}/u
/**
 * Maximum number of combining marks that are rendered per letter. More marks, which no language uses, would cover the
 * lines above.
 */
const MARKS_KEPT = 3
const MARK = /\p{M}/u

const NAMES: Readonly<Record<string, string>> = {
  '1B': 'escape',
  '7': 'bell',
  '8': 'backspace',
  D: 'carriage return',
  '0': 'null',
  '200B': 'zero-width space',
  '200C': 'zero-width non-joiner',
  '200D': 'zero-width joiner',
  '2060': 'word joiner',
  FEFF: 'zero-width no-break space',
  '200E': 'left-to-right mark',
  '200F': 'right-to-left mark',
  '202A': 'left-to-right embedding',
  '202B': 'right-to-left embedding',
  '202C': 'end of direction',
  '202D': 'left-to-right override',
  '202E': 'right-to-left override',
  '2066': 'left-to-right isolate',
  '2067': 'right-to-left isolate',
  '2068': 'first strong isolate',
  '2069': 'end of isolate',
  A0: 'no-break space',
  AD: 'soft hyphen',
}

/** Splits the text into plain and hidden segments, in order and without loss. */
export function visibleSegments(text: string, options: { readonly isOneLine?: boolean } = {}): Segment[] {
  const found: Segment[] = []
  let plain = ''
  let marks = 0
  let at = 0
  const flush = () => {
    if (plain !== '') found.push({ kind: 'text', at: at - plain.length, text: plain })
    plain = ''
  }
  for (const char of text) {
    marks = MARK.test(char) ? marks + 1 : 0
    if (isPlain(char, options.isOneLine === true) && marks <= MARKS_KEPT) plain += char
    else {
      flush()
      found.push(hidden(char, at))
    }
    at += char.length
  }
  flush()
  return found
}

/** Maximum number of consecutive hidden characters that are shown individually. */
const RUN_SHOWN = 8

export type Shown = Segment | { readonly kind: 'run'; readonly at: number; readonly count: number }

/** Replaces long runs of hidden characters with their first few and a count. */
export function condensed(segments: readonly Segment[]): Shown[] {
  const shown: Shown[] = []
  let run = 0
  for (const segment of segments) {
    run = segment.kind === 'hidden' ? run + 1 : 0
    const last = shown.at(-1)
    if (run <= RUN_SHOWN) shown.push(segment)
    else if (last?.kind === 'run') shown[shown.length - 1] = { ...last, count: last.count + 1 }
    else shown.push({ kind: 'run', at: segment.at, count: 1 })
  }
  return shown
}

/** Returns the approximate width of the rendered text, in letters. */
export function visibleLength(text: string): number {
  return condensed(visibleSegments(text, { isOneLine: true })).reduce(
    (sum, segment) => sum + (segment.kind === 'text' ? segment.text.length : 7),
    0,
  )
}

function isPlain(char: string, isOneLine: boolean): boolean {
  if (char === '\n' || char === '\t') return !isOneLine
  return !HIDDEN.test(char)
}

function hidden(char: string, at: number): Segment {
  const hex = (char.codePointAt(0) ?? 0).toString(16).toUpperCase()
  return { kind: 'hidden', at, code: `U+${hex.padStart(4, '0')}`, name: NAMES[hex] ?? 'hidden character' }
}
