import { describe, expect, it } from 'vitest'
import { inject } from '../../../core/inject/inject.ts'
import { jsonPatch } from '../../../core/inject/json-patch.ts'
import { type Pod, PodSchema } from '../../../core/inject/pod.ts'
import { applyPatch } from '../../support/apply-patch.ts'
import fc from '../../support/fast-check.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

const ENV_NAMES = [
  'HTTPS_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'JAVA_TOOL_OPTIONS',
  'GITHUB_TOKEN',
  'NODE_USE_ENV_PROXY',
  'constructor',
  'MODEL',
]
const env = fc.array(
  fc.oneof(
    fc.record({ name: fc.constantFrom(...ENV_NAMES), value: fc.string({ maxLength: 8 }) }),
    fc.record({
      name: fc.constantFrom(...ENV_NAMES),
      valueFrom: fc.record({
        configMapKeyRef: fc.record({ name: fc.constant('c'), optional: fc.boolean() }),
      }),
    }),
  ),
  { maxLength: 8 },
)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const security = fc.record(
  {
    runAsUser: fc.constantFrom(0, 1000, INJECT_OPTIONS.freshUid),
    runAsNonRoot: fc.boolean(),
    privileged: fc.boolean(),
    capabilities: fc.record(
      { add: fc.subarray(['NET_BIND_SERVICE', 'NET_ADMIN']), drop: fc.subarray(['ALL', 'KILL']) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
)
const container = (name: string) =>
  fc.record(
    {
      name: fc.constant(name),
      env,
      envFrom: fc.constant([{ configMapRef: { name: 'c' } }]),
      securityContext: security,
      volumeMounts: fc.subarray([
        { name: 'data', mountPath: '/data' },
        { name: 'kube-api-access-abcde', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
        { name: 'chaperone-trust', mountPath: '/etc/chaperone/trust', readOnly: true },
        { name: 'chaperone-admin', mountPath: '/x' },
      ]),
    },
    { requiredKeys: ['name'] },
  )
const containers = (prefix: string, minLength: number) =>
  fc
    .integer({ min: minLength, max: 3 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => container(`${prefix}${at}`))))
const pods: fc.Arbitrary<Pod> = fc
  .record(
    {
      metadata: fc.record(
        {
          name: fc.constant('agent'),
          labels: fc.constant({ constructor: 'x', 'a/b~c': 'y' }),
          annotations: fc.dictionary(
            fc.constantFrom(
              'chaperone.dev/injected',
              'chaperone.dev/proxy-uid',
              'chaperone.dev/agent',
              'other',
            ),
            fc.constantFrom('{}', '1912345678', 'triage'),
          ),
        },
        { requiredKeys: ['name'] },
      ),
      spec: fc.record(
        {
          containers: containers('c', 1),
          initContainers: fc
            .tuple(containers('i', 0), fc.subarray(['chaperone-rules', 'chaperone-proxy']))
            .map(([own, ours]) => [...own, ...ours.map((name) => ({ name, image: 'mine' }))]),
          volumes: fc.subarray([
            { name: 'data', emptyDir: {} },
            { name: 'kube-api-access-abcde', projected: { sources: [{ serviceAccountToken: {} }] } },
            { name: 'chaperone-token', emptyDir: {} },
          ]),
          automountServiceAccountToken: optional(fc.boolean()),
          hostNetwork: fc.constantFrom(false, false, false, true),
        },
        { requiredKeys: ['containers'] },
      ),
    },
    { requiredKeys: ['metadata', 'spec'] },
  )
  .map((pod) => PodSchema.parse(JSON.parse(JSON.stringify(pod))))

const gateways = fc
  .record({
    interception: fc.constantFrom('transparent' as const, 'proxyEnv' as const),
    inbound: fc.constantFrom('allow' as const, 'deny' as const),
    agents: fc.record({ allowServiceAccountToken: fc.boolean(), startOnlyWithRules: fc.boolean() }),
  })
  .map((spec) => gateway('team', 'main', spec))
const options = { ...INJECT_OPTIONS, keepsUid: () => true }

describe('for any pod', () => {
  it('a second pass changes nothing', () => {
    fc.assert(
      fc.property(pods, gateways, (pod, by) => {
        const once = inject(pod, by, options)
        if (once.kind === 'refused') return
        const twice = inject(once.pod, by, options)
        expect(twice).toEqual({ kind: 'injected', pod: once.pod, warnings: [], choice: null })
        expect(jsonPatch(once.pod, once.pod)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('the patch produces the injected pod, or every reason is named', () => {
    fc.assert(
      fc.property(pods, gateways, (pod, by) => {
        const result = inject(pod, by, options)
        if (result.kind === 'refused') {
          expect(result.refusals.length).toBeGreaterThan(0)
          for (const refusal of result.refusals) expect(refusal.field).toMatch(/^(spec|metadata)\./)
          return
        }
        expect(applyPatch(pod, jsonPatch(pod, result.pod))).toEqual(result.pod)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a patch', () => {
  it('is right for any two values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (before, after) => {
        expect(applyPatch(before, jsonPatch(before, after))).toEqual(after)
      }),
    )
  })

  it('is right for lists of named things in any order', () => {
    const list = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), v: fc.integer() }), {
      selector: ({ name }) => name,
    })
    fc.assert(
      fc.property(list, list, (before, after) => {
        expect(applyPatch(before, jsonPatch(before, after))).toEqual(after)
      }),
    )
  })

  it('puts a container in front in one step', () => {
    const before = { initContainers: [{ name: 'b' }, { name: 'c', image: 'x' }] }
    const after = { initContainers: [{ name: 'a' }, { name: 'b' }, { name: 'c', image: 'y' }] }
    expect(jsonPatch(before, after)).toEqual([
      { op: 'add', path: '/initContainers/0', value: { name: 'a' } },
      { op: 'replace', path: '/initContainers/2/image', value: 'y' },
    ])
  })
})
