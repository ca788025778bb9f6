import { describe, expect, test } from 'vitest'
import { LineCounter, parseAllDocuments } from 'yaml'
import { readYamlDocuments } from '../../../../core/crd/manifests/yaml-documents.ts'

const read = (text: string, maxOpen?: number) => {
  const lines = new LineCounter()
  const { documents, tooDeepAt } = readYamlDocuments(text, lines, maxOpen)
  return { documents, line: tooDeepAt === null ? null : lines.linePos(tooDeepAt).line }
}

/** `levels` block mappings, each inside the one before. */
const mappings = (levels: number) =>
  Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:`).join('\n')

describe('the reader of YAML', () => {
  test.each([
    '',
    '# nothing\n',
    'a: 1\n---\n- 2\n--- # third\n',
    'a: [\n',
    'a: 1\na: 2\n',
    '%YAML 1.2\n---\nx\n',
  ])('finds the same documents as the library in %j', (text) => {
    const found = parseAllDocuments(text, { prettyErrors: false })
    const all = Array.isArray(found) ? found : []
    expect(read(text).documents.map((document) => document.errors.length)).toEqual(
      all.map((document) => document.errors.length),
    )
    const sound = (documents: readonly { errors: readonly unknown[]; toJS(): unknown }[]) =>
      documents.filter(({ errors }) => errors.length === 0).map((document) => document.toJS())
    expect(sound(read(text).documents)).toEqual(sound(all))
  })

  test.each([
    ['sequences', '['.repeat(100_000), 1],
    ['mappings in a line', '{a: '.repeat(100_000), 1],
    ['mappings', `x: 1\n---\n${mappings(500)}`, 2 + 300],
    ['keys', '? '.repeat(50_000), 1],
    ['lists', '- '.repeat(50_000), 1],
  ])('stops at endless %s, and returns the position', (_what, text, line) => {
    const found = read(text)
    expect(found.line).not.toBeNull()
    expect(Math.abs((found.line ?? 0) - line)).toBeLessThanOrEqual(2)
  })

  test('reads the nesting of any workload', () => {
    const found = read(mappings(60))
    expect(found).toMatchObject({ line: null, documents: [{ errors: [] }] })
  })
})
