import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { httpApiPage } from '../../scripts/docs/http-api-page.ts'
import { buildSite } from '../../scripts/docs/site/build-site.ts'
import { headingSlug } from '../../scripts/docs/site/heading-slug.ts'
import { navigationOf } from '../../scripts/docs/site/navigation.ts'
import { IS_FULL } from '../support/proof.ts'

const ROOT = join(import.meta.dirname, '../..')
const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...docs.map((name) => `docs/${name}`),
]

const withoutCode = (text: string) =>
  text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').replaceAll(/`[^`\n]*`/g, 'x')

/** Anchors of a page: a repeated heading has a number behind it. */
function anchorsOf(file: string): ReadonlySet<string> {
  const text = readFileSync(file, 'utf8').replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
  const seen = new Map<string, number>()
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => headingSlug(heading))
  return new Set(
    headings.map((slug) => {
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return count === 0 ? slug : `${slug}-${count}`
    }),
  )
}

function isDead(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? join(ROOT, page) : resolve(ROOT, page, '..', path)
  if (!existsSync(file)) return true
  return anchor !== undefined && !anchorsOf(file).has(anchor)
}

test.each(pages)('the links of %s lead to files and headings that exist', (page) => {
  const text = withoutCode(readFileSync(join(ROOT, page), 'utf8'))
  const links = [...text.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)].map(
    ([, one, two = '']) => one ?? two,
  )
  expect(links.filter((link) => !/^(https?|mailto):/.test(link) && isDead(page, link))).toEqual([])
})

test('a link to a missing file or heading is found', () => {
  expect(isDead('README.md', 'docs/missing.md')).toBe(true)
  expect(isDead('README.md', 'docs/security.md#missing')).toBe(true)
  expect(isDead('docs/faq.md', '../README.md#command-line')).toBe(false)
})

test('the navigation has each page once', () => {
  const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
  const links = navigationOf(index).flatMap(({ items }) =>
    items.map(({ link }) => `${relative('/', link)}.md`),
  )
  expect(links.sort()).toEqual(docs.filter((name) => name !== 'README.md').sort())
})

test('the page of the HTTP API has every operation with its right', () => {
  const page = httpApiPage()
  expect(page).toMatch(/^\| `POST \/api\/v1\/actions` \| .+ \| agentKey \|/m)
  expect(page).toMatch(
    /^\| `POST \/api\/v1\/approvals\/\{approvalId\}\/respond` \| .+ \| session, approverKey \| `approvals\/answer` \|$/m,
  )
  expect(page.match(/^\| `/gm)?.length).toBeGreaterThan(90)
})

// Installs packages.
describe.runIf(IS_FULL)('the site', () => {
  test('builds without dead links', () => {
    const folder = join(ROOT, 'node_modules/.cache/chaperone/docs-site-test')
    buildSite(ROOT, folder)
    for (const page of ['index.html', 'conditions.html', 'http-api.html', 'actions/codehost.html'])
      expect(existsSync(join(folder, page))).toBe(true)
  })
})
