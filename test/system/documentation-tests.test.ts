import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
const testsOf = (page: string) => [
  ...new Set(readFileSync(join(ROOT, 'docs', page), 'utf8').match(/\btest\/[\w./-]+\.ts\b/g)),
]

test.each(pages)('every test that docs/%s names exists', (page) => {
  expect(testsOf(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('each section of docs/tenancy.md names a test', () => {
  const sections = readFileSync(join(ROOT, 'docs/tenancy.md'), 'utf8').split(/^## /m).slice(1)
  expect(sections.length).toBeGreaterThan(5)
  expect(sections.filter((text) => !/\btest\/[\w./-]+\.ts\b/.test(text))).toEqual([])
})
