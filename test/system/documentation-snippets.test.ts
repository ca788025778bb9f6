import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { COMMANDS } from '../../controlplane/cli/commands.ts'
import { checkManifest } from '../../controlplane/cli/manifests/manifest-files.ts'
import { API_VERSION } from '../../core/crd/schemas.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const IN_A_CLUSTER = 'test/cluster/documentation.cluster.ts'
const ON_ONE_MACHINE = 'test/system/documentation-run.test.ts'
/** Pages with snippets, and the tests that run these. */
const RUN: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['test/agents/walk.suite.ts', 'test/controlplane/cli/readme.test.ts'],
  'docs/agent-programs.md': ['test/controlplane/cli/run/agent-programs.test.ts'],
  'docs/agent-sandbox.md': ['test/cluster/agent-sandbox.cluster.ts'],
  'docs/api-conventions.md': [ON_ONE_MACHINE],
  'docs/credentials.md': [ON_ONE_MACHINE],
  'docs/effect-classes.md': [ON_ONE_MACHINE],
  'docs/gitops.md': ['test/system/argo-health.test.ts', ON_ONE_MACHINE],
  'docs/held-requests.md': [IN_A_CLUSTER],
  'docs/high-availability.md': ['test/system/keys.test.ts', 'test/cluster/secrets.cluster.ts'],
  'docs/installation.md': [IN_A_CLUSTER, ON_ONE_MACHINE],
  'docs/kubernetes.md': [IN_A_CLUSTER, ON_ONE_MACHINE, 'test/release/registry-page.ts'],
  'docs/users.md': [IN_A_CLUSTER, ON_ONE_MACHINE],
  'docs/policy-cookbook.md': ['test/system/policy-cookbook.test.ts'],
  'docs/production.md': ['test/controlplane/record-export/collector.test.ts'],
  'docs/provider-side.md': [ON_ONE_MACHINE],
  'docs/quickstarts.md': ['test/agents/walk.suite.ts', 'test/system/quickstarts.test.ts'],
  'docs/release.md': ['test/release/release.test.ts', 'test/release/artefacts.test.ts'],
  'docs/tenancy.md': [IN_A_CLUSTER, ON_ONE_MACHINE],
}

type Snippet = { readonly page: string; readonly language: string; readonly text: string }

const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)]
const snippets: readonly Snippet[] = PAGES.filter((path) => path.endsWith('.md')).flatMap((page) =>
  [...read(page).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    ...{ page, language, text },
  })),
)

test('each page with snippets names the tests that run them', () => {
  const pages = [...new Set(snippets.map(({ page }) => page))].toSorted()
  expect(Object.keys(RUN).toSorted()).toEqual(pages)
  for (const path of Object.values(RUN).flat()) expect(existsSync(join(ROOT, path)), path).toBe(true)
})

describe('manifests', () => {
  const KINDS: ReadonlySet<unknown> = new Set(['Gateway', 'Connector', 'Permission', 'Policy'])
  const objects = snippets
    .flatMap(({ page, language, text }) => {
      const inside = language === 'sh' ? heredocs(text) : language === 'yaml' ? [text] : []
      return inside.flatMap((yaml) =>
        parseAllDocuments(yaml).map((document) => ({ page, value: document.toJS() })),
      )
    })
    .filter(({ value }) => KINDS.has(value?.kind))

  test('are in the pages', () => expect(objects.length).toBeGreaterThan(30))

  test.each(objects.map(({ page, value }, index) => [page, `${index} ${value.kind}`, value] as const))(
    '%s: object %s is valid',
    (_page, _name, { kind, metadata, spec }) => {
      const whole = { apiVersion: API_VERSION, kind, metadata: { name: 'example', ...metadata }, spec }
      expect(checkManifest({ path: 'page.yaml', text: JSON.stringify(whole) }).problems).toEqual([])
    },
  )
})

describe('values of the chart', () => {
  const values = parse(read('helm/values.yaml')) as Record<string, unknown>
  const blocks = snippets.flatMap(({ page, language, text }) => {
    const first = /^(\w+):/.exec(text)?.[1] ?? ''
    const isValues = language === 'yaml' && first in values && !/^kind:/m.test(text)
    return isValues ? [[page, first, text] as const] : []
  })

  test('are in the pages', () => expect(blocks.length).toBeGreaterThan(4))

  test.each(blocks)('%s: %s is in helm/values.yaml', (_page, _first, text) => {
    expect(unknownValues(parse(text), values)).toEqual([])
  })

  test.each(settings())('--set %s is in helm/values.yaml', (setting) => {
    const value = setting.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), 'text')
    expect(unknownValues(value, values)).toEqual([])
  })
})

describe('commands', () => {
  const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts
  const lines = snippets.filter(({ language }) => language === 'sh').flatMap(({ text }) => commandLines(text))

  test.each(lines.filter((line) => /^npm /.test(line)))('%s is a script of the package', (line) => {
    const [, name = ''] = /^npm (?:run )?([\w:]+)/.exec(line) ?? []
    expect(Object.keys(scripts)).toContain(name)
  })

  test.each(lines.filter((line) => /^(?:kubectl |\.\/scripts\/)?chaperone(?:\.sh)? /.test(line)))(
    '%s is a command with these options',
    async (line) => {
      const [name = '', ...words] = line
        .replace(/^(?:kubectl |\.\/scripts\/)?chaperone(?:\.sh)? /, '')
        .split(/\s+/)
      const source = line.startsWith('kubectl ') ? read('controlplane/cli/cluster/kubectl-chaperone.ts') : ''
      if (source.includes(`'${name}'`) && !COMMANDS.has(name)) return
      const command = await COMMANDS.get(name)?.()
      expect(command, name).toBeDefined()
      const options = Object.entries({ ...command?.options, data: {}, json: {}, help: {} })
      const known = options.flatMap(([option, spec]) => [
        `--${option}`,
        `-${'short' in spec ? spec.short : ''}`,
      ])
      const own = line.includes(' -- ') ? words.slice(0, words.indexOf('--')) : words
      const ofKubectl = line.startsWith('kubectl ') ? ['-n'] : []
      for (const word of own.filter((each) => each.startsWith('-')))
        expect([...known, ...ofKubectl]).toContain(word)
    },
  )

  test.each(lines.flatMap((line) => /-p '(?<patch>\{.*?\})'/.exec(line)?.groups?.['patch'] ?? []))(
    'the patch %s is JSON',
    (patch) => expect(JSON.parse(patch)).toBeTypeOf('object'),
  )
})

/** Lines without comments and here-documents; a line that ends with a backslash continues. */
function commandLines(text: string): readonly string[] {
  return text
    .replaceAll(/<<-?'?(\w+)'?.*\n[\s\S]*?^\1$/gm, '')
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '')
}

function heredocs(text: string): readonly string[] {
  return [...text.matchAll(/<<-?'?(\w+)'?.*\n([\s\S]*?)^\1$/gm)].map(([, , body = '']) => body)
}

function settings(): readonly string[] {
  const names = snippets.flatMap(({ language, text }) =>
    language === 'sh' ? [...text.matchAll(/--set '?([\w.]+)=/g)].map(([, name = '']) => name) : [],
  )
  return [...new Set(names)]
}

/** Paths of a value that the defaults of the chart do not have. A default that is an empty map may hold any key. */
function unknownValues(value: unknown, defaults: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  if (typeof defaults !== 'object' || defaults === null || Object.keys(defaults).length === 0) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key in defaults
      ? unknownValues(inner, (defaults as Record<string, unknown>)[key], `${path}${key}.`)
      : [`${path}${key}`],
  )
}
