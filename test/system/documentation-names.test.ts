import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BUILT_IN } from '../../core/connectors/registry.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
)
/** Types that are named after a provider, and the name of the provider. */
const PROVIDERS = BUILT_IN.flatMap(({ name, label: { title } }) => {
  const provider = /^(\w+) \(\w+\)$/.exec(title)?.[1]
  return provider === undefined ? [] : [[name, provider] as const]
})
/** Characters from the first mention of a type within which a reader finds its provider: about four lines. */
const NEAR = 500

/**
 * Types that stand on a page as code or in a manifest before a reader could know their provider. `chat` and `payments` are
 * also ordinary words: they count only with a dot, as the beginning of an action.
 */
function unexplained(text: string): readonly string[] {
  return PROVIDERS.flatMap(([type, provider]) => {
    const mention = type === 'chat' || type === 'payments' ? `\\b${type}\\.[a-z]` : `\\b${type}\\b`
    const first = text.search(new RegExp(mention))
    return first === -1 || text.slice(0, first + NEAR).includes(provider) ? [] : [type]
  })
}

/** Words that the section Language of CONTRIBUTING.md replaces by plain ones. `the stop` is the kill switch. */
const UNPLAIN = /\b(?:mend(?:s|ed|ing)?|whoever|nobody)\b|\b(?:the|a|such a) stop\b/gi

test.each([...PAGES, 'CONTRIBUTING.md', 'SECURITY.md'])('%s has plain words', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
  expect(text.match(UNPLAIN)).toBeNull()
})

describe('the provider of a connector type', () => {
  test.each(PAGES)('is named in %s where the type is met first', (page) => {
    expect(unexplained(readFileSync(join(ROOT, page), 'utf8'))).toEqual([])
  })

  test('is missed where a page has the type alone', () => {
    expect(unexplained('`codehost.pr.merge` and `llm_a`, and a chat about payments')).toEqual([
      'codehost',
      'llm_a',
    ])
    expect(unexplained('GitHub (`codehost`), and refunds: `payments.charge.refund`')).toEqual(['payments'])
  })
})
