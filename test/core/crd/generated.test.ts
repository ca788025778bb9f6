import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Environment } from '@marcbachmann/cel-js'
import { describe, expect, test } from 'vitest'
import { CONDITIONS } from '../../../core/crd/conditions.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { CONNECTOR_RULES, GATEWAY_RULES, PERMISSION_RULES } from '../../../core/crd/rules.ts'
import type { SpecRule } from '../../../core/crd/spec-rules.ts'
import { crd } from '../../../scripts/crds/crd.ts'
import { KINDS } from '../../../scripts/crds/kinds.ts'

const PAGE = join(import.meta.dirname, '../../../docs/kubernetes.md')
const START = '<!-- conditions: written by test/core/crd/generated.test.ts -->'
const END = '<!-- conditions: end -->'

/** The page with the table of what a status can say in place of the one that it has. */
function withConditions(page: string): string {
  const [before, rest] = page.split(START)
  const [, after] = rest?.split(END) ?? []
  if (before === undefined || after === undefined) throw new Error(`the page has no ${START} … ${END}`)
  const rows = Object.entries(CONDITIONS).flatMap(([type, reasons]) =>
    Object.entries(reasons).map(([reason, what]) => `| \`${type}\` | \`${reason}\` | ${what} |`),
  )
  const table = ['| Condition | Reason | Means |', '|---|---|---|', ...rows]
  return `${before}${START}\n${table.join('\n')}\n${END}${after}`
}

type Schema = { readonly [key: string]: unknown }

/** Every schema inside, with its path. */
function* walk(schema: Schema, path: string): Generator<readonly [string, Schema]> {
  yield [path, schema]
  for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as Record<string, Schema>))
    yield* walk(inner, `${path}.${name}`)
  for (const member of ['items', 'additionalProperties']) {
    const inner = schema[member]
    if (typeof inner === 'object' && inner !== null) yield* walk(inner as Schema, `${path}[]`)
  }
}

function isBounded(schema: Schema): boolean {
  switch (schema['type']) {
    case 'string':
      return schema['maxLength'] !== undefined || schema['enum'] !== undefined
    case 'array':
      return schema['maxItems'] !== undefined
    case 'integer':
      return schema['maximum'] !== undefined
    case 'object':
      return schema['properties'] !== undefined || schema['maxProperties'] !== undefined
    default:
      return true
  }
}

describe('the generated resources', () => {
  test.each(KINDS)('$kind has a bound on every string, list, map and number of its spec', (source) => {
    const { properties } = crd(source).spec.versions[0]!.schema.openAPIV3Schema
    const unbounded = [...walk(properties.spec, 'spec')].filter(([, schema]) => !isBounded(schema))
    expect(unbounded.map(([path]) => path)).toEqual([])
  })

  test.each(KINDS)('the spec of a $kind follows the conventions of docs/api-conventions.md', (source) => {
    const { properties } = crd(source).spec.versions[0]!.schema.openAPIV3Schema
    const inside = [...walk(properties.spec, 'spec')]
    const nameOf = (path: string) =>
      path
        .replace(/(\[\])+$/, '')
        .split('.')
        .at(-1) ?? ''
    const misspelt = inside.map(([path]) => nameOf(path)).filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))
    expect(new Set(misspelt), 'the name of a Kubernetes resource').toEqual(
      new Set(source.kind === 'Gateway' ? ['ephemeral-storage'] : []),
    )
    // A list of one value has two legal values: empty, and with it.
    const single = inside.filter(
      ([path, { enum: values }]) => Array.isArray(values) && values.length < 2 && !path.endsWith('[]'),
    )
    expect(single.map(([path]) => path)).toEqual([])
    const numbers = inside.filter(([, { type }]) => type === 'number')
    expect(numbers.map(([path]) => path)).toEqual([])
    const references = inside.filter(([path]) => /refs?$/i.test(nameOf(path))).map(([path]) => nameOf(path))
    expect(references.filter((name) => !/^(gatewayRefs|secretRef|extraSecretRef)$/.test(name))).toEqual([])
    expect(inside.map(([path]) => nameOf(path))).not.toContain('enabled')
  })

  test('the type of a Connector is immutable', () => {
    const connector = KINDS.find(({ kind }) => kind === 'Connector')!
    const { properties } = crd(connector).spec.versions[0]!.schema.openAPIV3Schema
    expect(properties.spec['x-kubernetes-validations']).toContainEqual(
      expect.objectContaining({ rule: 'self.type == oldSelf.type', fieldPath: '.type' }),
    )
  })

  test.each(KINDS)('the status of a $kind has nothing that a newer operator could break', (source) => {
    const { properties } = crd(source).spec.versions[0]!.schema.openAPIV3Schema
    const inside = [...walk(properties.status, 'status')]
    const limited = inside.filter(([, schema]) => ['pattern', 'enum', 'format'].some((key) => key in schema))
    // The states of a condition are those of Kubernetes.
    expect(limited.map(([path]) => path)).toEqual(['status.conditions[].status'])
    const demanding = inside.filter(([, schema]) => 'required' in schema).map(([path]) => path)
    expect(demanding).toEqual(['status.conditions[]'])
  })

  test('the page about clusters lists every condition with every reason, and no other', () => {
    const page = readFileSync(PAGE, 'utf8')
    const right = withConditions(page)
    if (process.env['CHAPERONE_WRITE_DOCS']) writeFileSync(PAGE, right)
    expect(page, 'CHAPERONE_WRITE_DOCS=1 vitest run test/core/crd writes it').toBe(right)
  })
})

describe('the CEL and the function of a rule agree', () => {
  const cel = new Environment({ unlistedVariablesAreDyn: true })
  function agree<S extends object>(rules: ReadonlyArray<SpecRule<S>>, spec: S): boolean[] {
    return rules.map(({ cel: text, holds }) => {
      const self = JSON.parse(JSON.stringify(spec))
      const inCel = cel.evaluate(text, { self })
      expect(inCel, `${text} for ${JSON.stringify(spec)}`).toBe(holds(spec))
      return holds(spec)
    })
  }

  test('for Gateways', () => {
    const seconds = [0, 30, 600]
    const verdicts = seconds.flatMap((highRiskAfterSeconds) =>
      seconds.flatMap((writesAfterSeconds) =>
        seconds.flatMap((everythingAfterSeconds) =>
          agree(
            GATEWAY_RULES.cross,
            GatewaySpec.parse({
              failurePolicy: { highRiskAfterSeconds, writesAfterSeconds, everythingAfterSeconds },
            }),
          ),
        ),
      ),
    )
    expect(new Set(verdicts)).toEqual(new Set([true, false]))
  })

  test('for Permissions', () => {
    const patterns = ['codehost.*', 'effect:merge', 'effect:merg', 'effect:', 'effects.a', 'effect:*']
    const verdicts = patterns.flatMap((actionPattern) =>
      agree(PERMISSION_RULES.cross, { rules: [{ actionPattern: 'a' }, { actionPattern }] }),
    )
    expect(verdicts).toEqual([true, true, false, false, true, false])
  })

  test('for Connectors', () => {
    const some = <T>(...values: T[]) => values
    const row = { method: 'GET', path: '/a', effect: 'read', risk: 'low' }
    const specs = some('codehost', 'mcp').flatMap((type) =>
      some({}, { domains: [] }, { domains: ['a'] }, { baseUrl: 'https://a' }).flatMap((hosts) =>
        some(
          {},
          { auth: { type: 'none' } },
          { auth: { type: 'header' } },
          { auth: { type: 'header', header: 'X' } },
        ).flatMap((auth) =>
          some(
            {},
            { url: 'http://a' },
            { url: 'https://a' },
            { url: 'http://a', allowPrivateAddresses: true },
            { url: 'HTTP://a', allowPrivateAddresses: true },
            { url: 'HTTPS://a' },
            { url: 'http://a', allowPrivateAddresses: true, allowPlaintextCredential: true },
          ).flatMap((upstream) =>
            some('intercept', 'passthrough').flatMap((mode) =>
              some(
                {},
                { endpoint: ['/mcp'], mcp: {} },
                { webSocketMessages: true },
                { providerTools: {} },
                { providerTools: { allow: ['provider_tool.mcp'], deny: ['provider_tool.mcp'] } },
                { providerTools: { allow: ['provider_tool.mcp'], deny: ['batch.run'] } },
                { handles: 'own', mcp: { tools: [{ name: 'delete_*', effects: ['delete'] }] } },
                { agentTriggers: {} },
                { credential: { secretRef: { name: 'a' } }, actions: [{ ...row, action: 'mcp.a.b' }] },
                { credential: { vault: 'a' } },
                {
                  type: 'chat',
                  credential: { vault: 'a', oauth2: { tokenUrl: 'https://a.test', clientId: 'a' } },
                },
                {
                  credential: {
                    vault: 'a',
                    oauth2: { tokenUrl: 'https://a.test', clientId: 'a' },
                    githubApp: { appId: 'a', installationId: 1 },
                  },
                },
                {
                  credential: {
                    vault: 'a',
                    oauth2: {
                      ...{ tokenUrl: 'https://a.test', clientId: 'a', grant: 'refresh_token', scopes: ['a'] },
                      scopesByAction: [{ actionPattern: 'codehost.*', scopes: ['a', 'b'] }],
                    },
                  },
                },
                { credential: {} },
                { credential: { env: { name: 'A' } } },
                { credential: { file: { path: '/a/b' } } },
                { credential: { file: { path: '/a/../b' } } },
                { credential: { exec: { command: 'a' }, vault: 'a' } },
                { type: 'chat', credential: { exec: { command: 'a' } } },
              ).map((rest) =>
                ConnectorSpec.parse({ type, ...hosts, ...auth, upstream, tls: { mode }, ...rest }),
              ),
            ),
          ),
        ),
      ),
    )
    const verdicts = specs.map((spec) => agree(CONNECTOR_RULES.cross, spec))
    for (const index of CONNECTOR_RULES.cross.keys())
      expect(new Set(verdicts.map((each) => each[index]))).toEqual(new Set([true, false]))
  })
})
