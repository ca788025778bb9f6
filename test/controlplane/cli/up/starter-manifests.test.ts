import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkManifest, readManifestFiles } from '../../../../controlplane/cli/manifests/manifest-files.ts'
import { ensureManifests, STARTER_DIR } from '../../../../controlplane/cli/up/starter-manifests.ts'
import { createCatalogue } from '../../../../core/connectors/catalogue.ts'
import { policyDocumentOf } from '../../../../core/crd/policy/policy-spelling.ts'
import { lookupPermission } from '../../../../core/decision/permissions/permissions.ts'
import { policyWarnings } from '../../../../core/decision/policies/policy-warnings.ts'
import { buildPermissionIndex } from '../../../support/permission-index.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-starter-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

describe('the starter manifests', () => {
  const files = readManifestFiles([STARTER_DIR], '/')
  const checked = files.map(checkManifest)
  const resources = checked.flatMap((each) => each.resources)

  it('validate against the schemas without a problem', () => {
    expect(checked.flatMap((each) => each.problems)).toEqual([])
  })

  it('contain the local gateway, a connector for each of the five providers, permissions and a policy with tests', () => {
    const names = (kind: string) =>
      resources.filter((each) => each.kind === kind).map((each) => each.metadata.name)
    expect(names('Gateway')).toEqual(['local'])
    const types = resources.flatMap((each) => (each.kind === 'Connector' ? [each.spec.type] : []))
    expect(types.sort()).toEqual(['chat', 'codehost', 'llm_a', 'llm_b', 'llm_c', 'payments'])
    expect(names('Policy')).toEqual(['writes-require-approval'])
    for (const policy of resources)
      if (policy.kind === 'Policy') expect(policy.spec.tests.length).toBeGreaterThan(3)
  })

  it('have policies that name known actions only', () => {
    const policies = resources.flatMap((each) => (each.kind === 'Policy' ? [each] : []))
    expect(policies.flatMap(({ spec }) => policyWarnings(policyDocumentOf(spec)))).toEqual([])
  })

  it('refuse requests in the error format of the provider, so that SDKs show the reason', () => {
    const connectors = resources.flatMap((each) => (each.kind === 'Connector' ? [each.spec] : []))
    const shown = connectors.filter(({ errorShape }) => errorShape === 'provider').map(({ type }) => type)
    expect(shown.sort()).toEqual(['chat', 'llm_a', 'llm_b', 'llm_c', 'payments'])
  })

  it('deny unknown operations on model hosts, and allow the requests of agent programs for themselves', () => {
    const rules = resources.flatMap((each) => (each.kind === 'Permission' ? each.spec.rules : []))
    const index = buildPermissionIndex(
      rules.map((rule, at) => ({
        ...{
          id: `perm_${at}`,
          agent: '*',
          connector_type: rule.connectorType,
          action_pattern: rule.actionPattern,
        },
        ...{ decision: rule.decision, reason: rule.reason ?? null, source: 'file', managed_by: null },
      })),
    )
    for (const type of ['llm_a', 'llm_b', 'llm_c'])
      for (const verb of ['get', 'post', 'put', 'delete', 'other'])
        expect(lookupPermission(index, 'dev', `${type}.unmapped.${verb}`)?.decision).toBe('deny')
    const rows = [...createCatalogue().rows('llm_a'), ...createCatalogue().rows('llm_b')]
    const own = rows.filter(({ type }) => /^llm_b\.client\.|^llm_a\.trace\.ingest$/.test(type))
    expect(own.length).toBeGreaterThan(9)
    for (const { type, effect } of own) {
      expect(lookupPermission(index, 'dev', type)?.decision).toBe('allow')
      // The policy of the set holds writes.
      expect(effect, type).not.toBe('write')
    }
  })

  it('contain no secret', () => {
    expect(resources.filter((each) => each.kind === 'Secret')).toEqual([])
  })

  it('name a stored credential for each connector, as the connector is named', () => {
    const connectors = resources.flatMap((each) => (each.kind === 'Connector' ? [each] : []))
    const named = connectors.map(({ metadata, spec }) => [metadata.name, spec.credential])
    expect(named).toEqual(connectors.map(({ metadata: { name } }) => [name, { vault: name }]))
  })
})

describe('the manifests folder', () => {
  it('is created with the starter set when it is missing', () => {
    const dir = join(root, 'manifests')
    expect(ensureManifests(dir)).toEqual({ created: true })
    expect(readdirSync(dir)).toEqual([...readdirSync(STARTER_DIR), 'manifest.schema.json'])
    expect(existsSync(`${dir}.new`)).toBe(false)
  })

  it('has its JSON schema updated with the program, but not created', () => {
    const dir = join(root, 'manifests')
    ensureManifests(dir)
    const schema = join(dir, 'manifest.schema.json')
    const current = readFileSync(schema, 'utf8')
    expect(Object.keys(JSON.parse(current).$defs)).toEqual([
      'Gateway',
      'Connector',
      'Permission',
      'Policy',
      'Secret',
    ])
    writeFileSync(schema, 'older')
    ensureManifests(dir)
    expect(readFileSync(schema, 'utf8')).toBe(current)
    rmSync(schema)
    ensureManifests(dir)
    expect(existsSync(schema)).toBe(false)
  })

  it('stays empty when it exists and is empty', () => {
    const dir = join(root, 'manifests')
    mkdirSync(dir)
    expect(ensureManifests(dir)).toEqual({ created: false })
    expect(readdirSync(dir)).toEqual([])
  })
})
