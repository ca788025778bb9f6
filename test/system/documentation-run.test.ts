import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { runCli } from '../../controlplane/cli/cli.ts'
import { API_VERSION } from '../../core/crd/schemas.ts'
import { CHART, helm, helmProgram, LEAST } from '../helm/chart.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { commandWords, pageSnippets, withReaderValues } from '../support/page-snippets.ts'

/** Runs snippets of pages that have no test of their own (`RUN` of `documentation-snippets.test.ts`). */

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'chaperone-pages-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Spec = Readonly<Record<string, unknown>>
type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: Spec
}

/** Returns the objects of a snippet. A part of a spec, as pages show it, becomes an object of its kind. */
function objectsOf(name: string, snippet: string): readonly Manifest[] {
  const indent = /^ */.exec(snippet)?.[0] ?? ''
  const text = snippet.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
  return parseAllDocuments(text).map((document) =>
    wholeObject(name, document.toJS() as Partial<Manifest> & Spec),
  )
}

function wholeObject(
  name: string,
  { kind, metadata, spec, apiVersion: _version, ...part }: Partial<Manifest> & Spec,
): Manifest {
  const given = spec ?? partialSpec(part)
  const of = kind ?? ('type' in given ? 'Connector' : 'agents' in given ? 'Permission' : 'Policy')
  return { kind: of, metadata: { name: of === 'Gateway' ? 'local' : name, ...metadata }, spec: given }
}

function partialSpec(part: Spec): Spec {
  const { rules, oauth2, ...rest } = part
  if (oauth2 !== undefined)
    return {
      ...{ type: 'generic', domains: ['api.example.com'] },
      credential: { secretRef: { name: 'page', key: 'secret' }, oauth2 },
    }
  if (rules === undefined) return rest
  const isPermission = JSON.stringify(rules).includes('"actionPattern"')
  return isPermission ? { gatewayRefs: [{ name: 'local' }], agents: ['*'], rules } : { rules }
}

describe('manifests of pages', () => {
  const pages = ['credentials.md', 'effect-classes.md', 'kubernetes.md', 'provider-side.md', 'tenancy.md']
  const cases = pages.flatMap((page) =>
    pageSnippets(page, 'yaml')
      .map((snippet, index) => objectsOf(`${page.replace('.md', '')}-${index}`, snippet))
      .filter(([first]) => first !== undefined && (first.kind !== 'Policy' || 'rules' in first.spec))
      .map((objects, index) => [page, index, objects] as const),
  )
  let laptop: Laptop
  beforeAll(async () => {
    laptop = await startLaptop({ database: 'worker', manifests: { '00-gateway.yaml': GATEWAY } })
  })
  afterAll(() => laptop?.stop())

  test('are in each page', () => expect([...new Set(cases.map(([page]) => page))]).toEqual(pages))

  test.each(cases)('%s: snippet %i is accepted by an installation', async (page, index, objects) => {
    const file = `${page}-${index}.yaml`
    const secrets = objects.flatMap(({ metadata: { namespace }, spec }) => secretsOf(spec, namespace))
    const documents = [...objects.map((object) => ({ apiVersion: API_VERSION, ...object })), ...secrets]
    const isGateway = objects.some(({ kind }) => kind === 'Gateway')
    laptop.writeManifest('00-gateway.yaml', isGateway ? '' : GATEWAY)
    laptop.writeManifest(file, documents.map((each) => stringify(each)).join('---\n'))
    const wanted = objects.map(
      ({ kind, metadata: { namespace = 'default', name } }) => `${kind} ${namespace}/${name}`,
    )
    const states = await eventually('the installation has the objects of the page', async () => {
      const { objects: known, problems } = JSON.parse(
        (await laptop.cli(['get', 'manifests', '--json'])).stdout,
      )
      const ofPage = problems.filter((problem: { file: string }) => problem.file.includes(file))
      if (ofPage.length > 0) throw new Error(JSON.stringify(ofPage))
      const own = known.filter(({ managed_by }: { managed_by: string }) => managed_by?.includes(file))
      const names = own.map((row: State) => `${row.kind} ${row.namespace}/${row.name}`)
      return wanted.every((name) => names.includes(name)) && own.length === wanted.length ? own : null
    })
    expect(states.map(({ accepted, reasons }: State) => ({ accepted, reasons }))).toEqual(
      wanted.map(() => ({ accepted: true, reasons: [] })),
    )
    laptop.writeManifest(file, '')
  })
})

type State = {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly accepted: boolean
  readonly reasons: readonly string[]
}

const GATEWAY = `apiVersion: ${API_VERSION}\nkind: Gateway\nmetadata: { name: local }\nspec: {}\n`

function secretsOf({ credential }: Spec, namespace = 'default'): readonly Spec[] {
  const { secretRef } = (credential ?? {}) as { secretRef?: { readonly name: string; readonly key: string } }
  if (secretRef === undefined) return []
  const metadata = { name: secretRef.name, namespace }
  return [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { [secretRef.key]: 'of-the-page' } }]
}

describe('values of the chart in pages', () => {
  const own = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Spec
  const cases = ['installation.md', 'users.md', 'tenancy.md'].flatMap((page) =>
    pageSnippets(page, 'yaml')
      .filter((text) => (/^(\w+):/.exec(text)?.[1] ?? '') in own && !/^kind:/m.test(text))
      .map((text, index) => [page, index, text] as const),
  )

  test('are in the pages', () => expect(cases.length).toBeGreaterThan(4))

  test.skipIf(helmProgram === null).each(cases)(
    '%s: values %i render the chart',
    async (page, index, text) => {
      const file = join(folder, `${page}-${index}.yaml`)
      writeFileSync(file, text)
      const rendered = await helm('template', 'chaperone', CHART, ...LEAST, '-f', file)
      expect(parseAllDocuments(rendered).flatMap(({ errors }) => errors)).toEqual([])
    },
  )
})

// The nightly form of the cluster suite installs it.
test.skipIf(helmProgram === null)('the command of docs/installation.md renders the chart', async () => {
  const values = join(folder, 'own-values.yaml')
  writeFileSync(values, stringify({ database: { urlSecret: { name: 'database' } } }))
  const [command = '', ...others] = pageSnippets('installation.md', 'sh')
  expect(others).toEqual([])
  const words = commandWords(withReaderValues(command, { 'own-values.yaml': values }))
  expect(words.slice(0, 2)).toEqual(['helm', 'install'])
  const rendered = await helm('template', ...words.slice(2))
  expect(rendered).toContain('priorityClassName: system-cluster-critical')
})

test.skipIf(helmProgram === null)('the HelmRelease of docs/gitops.md renders the chart', async () => {
  type Release = {
    readonly kind: string
    readonly spec: {
      readonly chart: { readonly spec: { readonly chart: string; readonly valuesFiles: readonly string[] } }
      readonly values: Spec
    }
  }
  const objects = pageSnippets('gitops.md', 'yaml').flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as Release),
  )
  const spec = objects.find(({ kind }) => kind === 'HelmRelease')?.spec
  const own = join(folder, 'flux-values.yaml')
  writeFileSync(own, stringify(spec?.values))
  const { chart = '', valuesFiles = [] } = spec?.chart.spec ?? {}
  const files = [...valuesFiles, own].flatMap((file) => ['-f', file])
  expect(await helm('template', 'chaperone', chart, ...files)).toContain('name: chaperone-database')
})

test('the commands of docs/api-conventions.md rewrite nothing in the manifests of a first start', async () => {
  cpSync(join(ROOT, 'controlplane/cli/up/starter'), join(folder, 'manifests'), { recursive: true })
  const lines = pageSnippets('api-conventions.md', 'sh').flatMap((text) => text.trim().split('\n'))
  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines) {
    const [program, ...words] = line.replace(/\s*#.*$/, '').split(/\s+/)
    expect(program).toBe('chaperone')
    const output: string[] = []
    const print = (text: string) => void output.push(text)
    const terminal = { print, warn: print, isInteractive: false }
    expect([await runCli(words, { env: {}, cwd: folder, terminal }), output], line).toEqual([
      0,
      expect.any(Array),
    ])
  }
})
