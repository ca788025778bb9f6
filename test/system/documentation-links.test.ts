import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { httpApiPages } from '../../scripts/docs/http-api-page.ts'
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

describe('the pages of the HTTP API', () => {
  const apiPages = new Map(httpApiPages())
  const overview = apiPages.get('http-api.md') ?? ''
  const v1 = apiPages.get('http-api/v1.md') ?? ''
  const section = (title: string) => v1.split(`## \`${title}\`\n`)[1]?.split(/^## /m)[0] ?? ''

  test('have every operation with its right, and a link to it', () => {
    expect(overview).toMatch(
      /^\| \[`POST \/api\/v1\/actions`\]\(http-api\/v1\.md#[\w-]+\) \| .+ \| agentKey \|/m,
    )
    expect(overview).toMatch(
      /^\| \[`POST \/api\/v1\/approvals\/\{approvalId\}\/respond`\]\(.+\) \| .+ \| session, approverKey \| `approvals\/answer` \|$/m,
    )
    const links = [...overview.matchAll(/\]\((http-api\/[\w.-]+\.md)#([\w-]+)\)/g)]
    expect(links.length).toBeGreaterThan(90)
    for (const [link, path = '', anchor = ''] of links) {
      const headings = [...(apiPages.get(path) ?? '').matchAll(/^## (.+)$/gm)].map(([, text = '']) =>
        headingSlug(text),
      )
      expect(headings, link).toContain(anchor)
    }
  })

  test('have the parameters, request, reply and errors of an operation', () => {
    const create = section('POST /api/v1/actions')
    expect(create).toMatch(/^### Request\n\n\| Field .*[\s\S]*^\| `action_spec\.resource\.target`/m)
    expect(create).toMatch(/^### Reply\n[\s\S]*^\| `decision`/m)
    expect(create).toMatch(/^### Errors\n\n400 `.+`, 401 `.+`, .*429 `/m)
    expect(section('POST /api/v1/approvals/{approvalId}/respond')).toMatch(
      /^\| `approvalId` \(required\) \| path \| string \|/m,
    )
  })

  test('have text in every table cell that names a type', () => {
    for (const [path, text] of apiPages) expect(text, path).not.toMatch(/undefined|\[object Object\]/)
  })
})

// Installs packages.
describe.runIf(IS_FULL)('the site', () => {
  test('builds without dead links', () => {
    const folder = join(ROOT, 'node_modules/.cache/chaperone/docs-site-test')
    buildSite(ROOT, folder)
    for (const page of [
      'index.html',
      'conditions.html',
      'http-api.html',
      'http-api/v1.html',
      'actions/codehost.html',
    ])
      expect(existsSync(join(folder, page))).toBe(true)
  })
})
