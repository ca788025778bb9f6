import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Document, isMap, isNode, isSeq, parseAllDocuments } from 'yaml'
import { helmProgram, LEAST, type Rule, template } from './chart.ts'

const PAGE = join(import.meta.dirname, '../../docs/access.md')
const START = '<!-- roles: written by test/helm/access-page.test.ts -->'
const END = '<!-- roles: end -->'
/** Values with which every rule is rendered. The setting decides the rule about evictions, and who reads Secrets where. */
const VALUES = [...LEAST, '--set', 'operator.evictUngoverned=true,secretNamespaces={secret-namespace}']

type Role = {
  readonly kind: string
  readonly name: string
  readonly namespace: string
  readonly rules: readonly Row[]
}
type Row = { readonly rule: Rule; readonly why: string }
type Binding = {
  readonly kind: string
  readonly metadata: { readonly namespace?: string }
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: ReadonlyArray<{ readonly name: string }>
}

/** The rules of a role with the comments that stand before them in the chart. */
function rowsOf(document: Document.Parsed): readonly Row[] {
  const { rules: values } = document.toJS() as { readonly rules: readonly Rule[] }
  const rules = isMap(document.contents) ? document.contents.get('rules') : null
  const items = isSeq(rules) ? rules.items : []
  return values.map((rule, index) => {
    const item = items[index]
    const own = isNode(item) ? item.commentBefore : null
    const first = index === 0 && isSeq(rules) ? rules.commentBefore : null
    const lines = (own ?? first ?? '').split('\n').map((line) => line.trim())
    return { rule, why: lines.join(' ').trim() }
  })
}

function table(text: string): string {
  const documents = parseAllDocuments(text).filter(({ contents }) => isMap(contents)) as Document.Parsed[]
  const roles = documents.flatMap((document): Role[] => {
    const { kind, metadata } = document.toJS() as {
      kind: string
      metadata: { name: string; namespace?: string }
    }
    if (kind !== 'Role' && kind !== 'ClusterRole') return []
    return [{ kind, name: metadata.name, namespace: metadata.namespace ?? '', rules: rowsOf(document) }]
  })
  const bindings = documents
    .map((document) => document.toJS() as Binding)
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
  const rows = roles.flatMap(({ kind, name, namespace, rules }) => {
    const bound = bindings.filter(({ roleRef, metadata }) => {
      const isHere = kind === 'ClusterRole' || metadata.namespace === namespace
      return roleRef.kind === kind && roleRef.name === name && isHere
    })
    return bound.flatMap((binding) =>
      rules.map(({ rule, why }) => {
        const who = binding.subjects.map((subject) => `\`${subject.name}\``).join(', ')
        const where = binding.kind === 'ClusterRoleBinding' ? 'all' : `\`${binding.metadata.namespace}\``
        const names = rule.resourceNames === undefined ? '' : ` (${rule.resourceNames.join(', ')})`
        const group = rule.apiGroups[0] === '' ? '' : `.${rule.apiGroups[0]}`
        const what = rule.resources.map((resource) => `\`${resource}${group}\``).join(', ')
        return `| ${who} | ${rule.verbs.join(', ')} | ${what}${names} | ${where} | ${why} |`
      }),
    )
  })
  return [
    '| ServiceAccount | May | On | In namespaces | Because |',
    '|---|---|---|---|---|',
    ...rows.sort(),
  ].join('\n')
}

function withTable(page: string, rows: string): string {
  const [before, rest] = page.split(START)
  const [, after] = rest?.split(END) ?? []
  if (before === undefined || after === undefined) throw new Error(`the page has no ${START} … ${END}`)
  return `${before}${START}\n${rows}\n${END}${after}`
}

describe.skipIf(helmProgram === null)('the page about access (helm)', () => {
  test('lists every right that the chart grants to its own ServiceAccounts, and no other', async () => {
    const page = readFileSync(PAGE, 'utf8')
    const right = withTable(page, table(await template(...VALUES)))
    if (process.env['CHAPERONE_WRITE_DOCS']) writeFileSync(PAGE, right)
    else expect(page, 'write it with CHAPERONE_WRITE_DOCS=1').toBe(right)
    const rows = right.split('\n').filter((line) => line.startsWith('| `chaperone-'))
    expect(rows.length).toBeGreaterThan(20)
  })
})
