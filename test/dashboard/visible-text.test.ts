import { describe, expect, test } from 'vitest'
import { condensed, visibleSegments } from '../../controlplane/dashboard/components/text/visible-text.ts'
import { HOSTILE } from './hostile-strings.ts'

const shown = (text: string, isOneLine = false) =>
  visibleSegments(text, { isOneLine })
    .map((segment) => (segment.kind === 'text' ? segment.text : `[${segment.code}]`))
    .join('')

const plain = (text: string, isOneLine = false) =>
  visibleSegments(text, { isOneLine })
    .flatMap((segment) => (segment.kind === 'text' ? [segment.text] : []))
    .join('')

describe('text of an agent', () => {
  test.each([
    ['pay\u202Eecalp', 'pay[U+202E]ecalp'],
    ['a\u200Bb', 'a[U+200B]b'],
    ['\u001B[31mred', '[U+001B][31mred'],
    ['a\u00A0b', 'a[U+00A0]b'],
    ['\u{E0041}', '[U+E0041]'],
    ['a\rb', 'a[U+000D]b'],
    ['Ünïcödé, 漢字, \u05D0', 'Ünïcödé, 漢字, \u05D0'],
    ['a\n\tb', 'a\n\tb'],
  ])('%j is shown as %j', (text, wanted) => {
    expect(shown(text)).toBe(wanted)
  })

  test('in one line a line break is shown too, so that nothing starts a line of its own', () => {
    expect(shown('a\nb', true)).toBe('a[U+000A]b')
  })

  test('marks pile up three high and no higher', () => {
    expect(plain(`e${'\u0301'.repeat(9)}x`)).toBe('e\u0301\u0301\u0301x')
  })

  test.each(HOSTILE)('nothing invisible or turning is left in %j', (text) => {
    for (const isOneLine of [false, true]) {
      expect(plain(text, isOneLine)).not.toMatch(
        /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3000\u3164\uFEFF\u{E0000}-\u{E00FF}]|\p{Variation_Selector}/u,
      )
    }
  })

  test.each(HOSTILE)('nothing is lost of %j', (text) => {
    const back = visibleSegments(text)
      .map((segment) =>
        segment.kind === 'text'
          ? segment.text
          : String.fromCodePoint(Number.parseInt(segment.code.slice(2), 16)),
      )
      .join('')
    expect(back).toBe(text)
  })

  test('a long run of hidden characters is its first eight and a number', () => {
    const shownRun = condensed(visibleSegments(`a${'\u200B'.repeat(500)}b`))
    expect(shownRun).toHaveLength(11)
    expect(shownRun.at(-2)).toMatchObject({ kind: 'run', count: 492 })
  })

  test('there are 60 and more of them', () => {
    expect(new Set(HOSTILE).size).toBeGreaterThanOrEqual(60)
  })
})
