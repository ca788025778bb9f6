import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8')

/** Texts at the beginning of an entry, each as the parts between its values. */
const texts = [...page.matchAll(/^\*\*`.*$/gm)].flatMap(([line]) =>
  [...line.matchAll(/\*\*`(.+?)`\*\*/g)].map(([, text = '']) => text),
)

/** The sources of the product, with the literals of a concatenation joined. */
const product = ['core', 'sidecar', 'controlplane', 'operator', 'kube', 'runtime']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(ROOT, folder, name),
    ),
  )
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n')
  .replaceAll(/\s+/g, ' ')
  .replaceAll(/['"`] \+ ['"`]/g, '')
  .replaceAll(/\\+(["'`])/g, '$1')

/** Returns the clauses of a text that the product lacks. The product composes some texts of clauses and values. */
function missingClauses(text: string): readonly string[] {
  return text
    .split(/…|(?<=[.:;,]) /)
    .map((clause) => clause.replaceAll(/^[\s"(.,:;]+|[\s".,:;]+$/g, ''))
    .filter((clause) => /[a-z]{3}/i.test(clause) && !product.includes(clause))
}

test('the page has an entry for each text', () => {
  expect(texts.length).toBeGreaterThan(45)
})

test.each(texts)('the product has the text: %s', (text) => {
  expect(missingClauses(text)).toEqual([])
})
