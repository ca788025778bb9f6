import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkManifest, readManifestFiles } from '../../../controlplane/cli/manifest-files.ts'
import { ensureManifests, STARTER_DIR } from '../../../controlplane/cli/starter-manifests.ts'
import { policyWarnings } from '../../../core/decision/policy-warnings.ts'

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

  it('hold the local gateway, a connector for each of the five providers, permissions and a policy with tests', () => {
    const names = (kind: string) =>
      resources.filter((each) => each.kind === kind).map((each) => each.metadata.name)
    expect(names('Gateway')).toEqual(['local'])
    const types = resources.flatMap((each) => (each.kind === 'Connector' ? [each.spec.type] : []))
    expect(types.sort()).toEqual(['chat', 'codehost', 'llm_a', 'llm_b', 'llm_c', 'payments'])
    expect(names('Policy')).toEqual(['changes-need-a-person'])
    for (const policy of resources)
      if (policy.kind === 'Policy') expect(policy.spec.tests.length).toBeGreaterThan(3)
  })

  it('have policies that name known actions only', () => {
    const policies = resources.flatMap((each) => (each.kind === 'Policy' ? [each] : []))
    expect(policies.flatMap(({ spec }) => policyWarnings(spec))).toEqual([])
  })

  it('hold no secret', () => {
    expect(resources.filter((each) => each.kind === 'Secret')).toEqual([])
  })

  it('are valid too once the commented Secrets and credentials are uncommented', () => {
    for (const file of files) {
      const uncommented = file.text.replace(
        /^( *)# ((?: *)(?:apiVersion: v1$|kind: Secret|metadata:| {2}name: |stringData:| {2}token: | {2}llm_[abc]: |---|credential:| {2}secretRef:).*)$/gm,
        '$1$2',
      )
      const { resources: found, problems } = checkManifest({ ...file, text: uncommented })
      expect(problems, file.path).toEqual([])
      const hasSecret = found.some((each) => each.kind === 'Secret')
      expect(hasSecret, file.path).toBe(/[1-4]0-/.test(file.path))
    }
  })
})

describe('the manifests folder', () => {
  it('gets the starter set when it is missing', () => {
    const dir = join(root, 'manifests')
    expect(ensureManifests(dir)).toEqual({ created: true })
    expect(readdirSync(dir)).toEqual([...readdirSync(STARTER_DIR), 'manifest.schema.json'])
    expect(existsSync(`${dir}.new`)).toBe(false)
  })

  it('keeps the schema that editors read at the state of the program, and brings none where there is none', () => {
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
