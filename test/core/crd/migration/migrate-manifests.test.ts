import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { FORMER_FIELDS } from '../../../../core/crd/migration/former-fields.ts'
import { migrateManifests } from '../../../../core/crd/migration/migrate-manifests.ts'
import { parseManifests } from '../../../../operator/folder/manifests.ts'

const REPOSITORY = join(import.meta.dirname, '../../../..')
const head = (kind: string, name = 'a') =>
  `apiVersion: chaperone.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name}, namespace: team }\n`

const FILE = `# Rules of the team.
${head('Policy')}spec:
  # Off until the release.
  enabled: false  # see the ticket
  mode:   monitor
  targetRefs:
    - kind: Gateway
      name: main
    - { kind: Gateway, name: shared, namespace: platform }
  rules:
    - name: merge
      decision: require_approval   # people decide
      approver_groups: [ "release-managers" ]

    - { name: rest, decision: deny, "approver_groups": [] }
  tests:
    - name: t
      action:
        type: codehost.pr.merge
        resource: { provider: codehost }
        risk_hints: { irreversible: true }
        parameters: { approver_groups: kept, risk_hints: kept }
      expect: { outcome: deny }
---
${head('Gateway')}spec:
  topology: sidecar
  killSwitch:
    active: true
    scopes:
      # the bot
      - agent:team/bot
      - codehost # a bare name
      - { kind: Agent, name: other }
  allowedNamespaces:
    agents: [one, "two"]
    policies:
      - one # the first
      - two
    permissions:
    - one

    - two # the last
    connectors: []
---
${head('Connector')}spec: { gateways: [main, platform/shared], type: codehost, enabled: true }
---
${head('Permission')}spec:
  gateway: main
  rules: [{ connectorType: codehost, actionPattern: "codehost.*", decision: allow }]
---
# Another product's.
apiVersion: example.com/v1
kind: Policy
spec: { enabled: true, topology: sidecar }
`

const MIGRATED = `# Rules of the team.
${head('Policy')}spec:
  # Off until the release.
  mode: disabled
  gatewayRefs: [{ name: main }, { name: shared, namespace: platform }]
  rules:
    - name: merge
      decision: require_approval   # people decide
      approverGroups: [ "release-managers" ]

    - { name: rest, decision: deny, approverGroups: [] }
  tests:
    - name: t
      action:
        type: codehost.pr.merge
        resource: { provider: codehost }
        riskHints: { irreversible: true }
        parameters: { approver_groups: kept, risk_hints: kept }
      expect: { outcome: deny }
---
${head('Gateway')}spec:
  killSwitch:
    active: true
    scopes:
      # the bot
      - { kind: Agent, name: team/bot }
      - { kind: Connector, name: codehost }
      - { kind: Agent, name: codehost } # a bare name
      - { kind: Agent, name: other }
  allowedNamespaces:
    agents: { from: Selector, names: [one, "two"] }
    policies:
      from: Selector
      names:
      - one # the first
      - two
    permissions:
      from: Selector
      names:
      - one

      - two # the last
    connectors: {}
---
${head('Connector')}spec: { gatewayRefs: [{ name: main }, { name: shared, namespace: platform }], type: codehost, enabled: true }
---
${head('Permission')}spec:
  gatewayRefs: [{ name: main }]
  rules: [{ connectorType: codehost, actionPattern: "codehost.*", decision: allow }]
---
# Another product's.
apiVersion: example.com/v1
kind: Policy
spec: { enabled: true, topology: sidecar }
`

describe('former spellings', () => {
  test('are rewritten, and every other byte of the file is kept', () => {
    const { text, problems } = migrateManifests(FILE)
    expect(text).toBe(MIGRATED)
    expect(problems).toEqual([])
  })

  test('are rewritten once: a second run changes nothing', () => {
    expect(migrateManifests(MIGRATED)).toEqual({ text: MIGRATED, changes: [], problems: [] })
  })

  test('are all refused by the manifests folder, and none is left after the rewriting', () => {
    const own =
      FILE.replace(', enabled: true }\n---\n', ' }\n---\n').split("---\n# Another product's.")[0] ?? ''
    const lines = new Set(parseManifests('a.yaml', own).problems.map(({ line }) => line))
    // The folder refuses each item of the scopes; the first one is two lines below the field.
    const refusedAt = ({ line, text }: { line: number; text: string }) =>
      text.startsWith('spec.killSwitch.scopes') ? line + 2 : line
    for (const change of migrateManifests(own).changes) expect(lines).toContain(refusedAt(change))
    expect(parseManifests('a.yaml', migrateManifests(own).text).problems).toEqual([])
  })

  test('have a change each with its line', () => {
    const lines = FILE.split('\n')
    const { changes } = migrateManifests(FILE)
    for (const { line, text } of changes) {
      const key = text.split(' ')[0]?.split('.').at(-1)
      expect(lines[line - 1]).toContain(key)
    }
    expect(new Set(changes.map(({ text }) => text.split(' ')[0]))).toEqual(
      new Set(FORMER_FIELDS.map(({ path }) => path.join('.'))),
    )
  })

  test.each([
    ['the only field', 'spec:\n  topology: sidecar\n', { spec: {} }],
    ['the last field', 'spec:\n  audit: sync\n  topology: sidecar', { spec: { audit: 'sync' } }],
    [
      'the first of a flow mapping',
      'spec: { topology: sidecar, audit: sync }\n',
      { spec: { audit: 'sync' } },
    ],
    ['the last of a flow mapping', 'spec: { audit: sync, topology: sidecar }\n', { spec: { audit: 'sync' } }],
    ['the only of a flow mapping', 'spec: { topology: sidecar }\n', { spec: {} }],
    [
      'all scopes',
      'spec:\n  killSwitch:\n    active: true\n    scopes: [agent:x, ALL]\n',
      { spec: { killSwitch: { active: true } } },
    ],
    [
      'the Gateway itself',
      'spec:\n  killSwitch:\n    scopes:\n      - gateway:team/a\n    active: true\n',
      { spec: { killSwitch: { active: true } } },
    ],
    [
      'scopes in one line',
      'spec: { killSwitch: { scopes: ["agent:x,y", bot] } }\n',
      {
        spec: {
          killSwitch: {
            scopes: [
              { kind: 'Agent', name: 'x,y' },
              { kind: 'Connector', name: 'bot' },
              { kind: 'Agent', name: 'bot' },
            ],
          },
        },
      },
    ],
  ])('of a Gateway: %s', (_what, spec, wanted) => {
    const { text, problems } = migrateManifests(head('Gateway') + spec)
    expect(parse(text)).toMatchObject(wanted)
    expect(parse(text).spec).toEqual(wanted.spec)
    expect(problems).toEqual([])
  })

  test.each([
    ['enabled: true\n  priority: 5', { priority: 5 }],
    ['priority: 5\n  enabled: true', { priority: 5 }],
    ['enabled: false\n  priority: 5', { mode: 'disabled', priority: 5 }],
    ['mode: enforce\n  enabled: false', { mode: 'disabled' }],
    ['targetRefs: []\n  priority: 5', { priority: 5 }],
  ])('of a Policy: %j', (fields, wanted) => {
    expect(parse(migrateManifests(`${head('Policy')}spec:\n  ${fields}\n`).text).spec).toEqual(wanted)
    const flow = `${head('Policy')}spec: { ${fields.replace('\n  ', ', ')} }\n`
    expect(parse(migrateManifests(flow).text).spec).toEqual(wanted)
  })
})

describe('what a person has to decide stays, with a problem', () => {
  test.each([
    ['Policy', 'enabled: "no"', 'spec.enabled must be true or false; use mode'],
    [
      'Permission',
      'gateway: a\n  gatewayRefs: [{ name: b }]',
      'spec.gateway and gatewayRefs are both present',
    ],
    [
      'Policy',
      'rules: [{ approver_groups: [], approverGroups: [] }]',
      'spec.rules.*.approver_groups and approverGroups are both present',
    ],
    ['Gateway', 'killSwitch: { scopes: [gateway:other] }', 'spec.killSwitch.scopes has an entry'],
    ['Connector', 'gateways: [1]', 'spec.gateways must be the name of a Gateway'],
    ['Policy', 'tags: &t [a]\n  targetRefs: *t', 'spec.targetRefs is a YAML alias'],
  ])('%s %j', (kind, spec, problem) => {
    const source = `${head(kind)}spec:\n  ${spec}\n`
    const { text, changes, problems } = migrateManifests(source)
    expect([text, changes]).toEqual([source, []])
    expect(problems).toEqual([{ line: expect.any(Number), text: expect.stringContaining(problem) }])
  })

  test('a file that is not valid YAML is left as it is', () => {
    const source = `${head('Gateway')}spec: { topology: sidecar }\n---\na: [\n`
    const { text, problems } = migrateManifests(source)
    expect(text).toBe(source)
    expect(problems[0]?.text).toContain('not valid YAML')
  })
})

test('no manifest of the product has a former spelling', () => {
  const folders = ['starters', 'controlplane/cli/up/starter']
  const files = folders.flatMap((folder) =>
    readdirSync(join(REPOSITORY, folder)).map((name) => join(folder, name)),
  )
  expect(files.length).toBeGreaterThan(8)
  for (const file of files) {
    const text = readFileSync(join(REPOSITORY, file), 'utf8')
    expect(parseAllDocuments(text).length).toBeGreaterThan(0)
    expect([file, migrateManifests(text).changes]).toEqual([file, []])
  }
})
