import { describe, expect, test } from 'vitest'
import { podChecks } from '../../../../controlplane/cli/cluster/pod-checks.ts'
import {
  DiagnosedGateway,
  DiagnosedPod,
  type PodFacts,
} from '../../../../controlplane/cli/cluster/pod-facts.ts'

const IMAGE = 'registry.example/chaperone:1'
type Changes = {
  readonly annotations?: object
  readonly labels?: object
  readonly proxy?: object
  readonly rules?: object
  readonly image?: string
  readonly conditions?: readonly object[]
  readonly readiness?: string | null
  readonly programs?: readonly string[] | null
}

function facts({
  annotations = { 'chaperone.dev/gateway': 'main', 'chaperone.dev/agent': 'bot' },
  labels = { 'chaperone.dev/inject': 'injected', 'chaperone.dev/layer': 'Transparent' },
  proxy = { ready: true, restartCount: 0 },
  rules = { state: { terminated: { exitCode: 0 } } },
  image = IMAGE,
  conditions = [{ type: 'Ready', status: 'True' }],
  readiness = null,
  programs = ['node'],
}: Changes = {}): PodFacts {
  const pod = DiagnosedPod.parse({
    metadata: { name: 'bot-1', namespace: 'team', annotations, labels },
    spec: {
      containers: [{ name: 'agent', image: 'node:24' }],
      initContainers: [
        { name: 'chaperone-rules', image },
        { name: 'chaperone-proxy', image },
      ],
    },
    status: {
      phase: 'Running',
      initContainerStatuses: [
        { name: 'chaperone-rules', ...rules },
        { name: 'chaperone-proxy', ...proxy },
      ],
    },
  })
  return {
    pod,
    gatewayName: 'chaperone.dev/gateway' in annotations ? 'team/main' : null,
    gateway: DiagnosedGateway.parse({ status: { conditions } }),
    readiness,
    sidecarImage: IMAGE,
    programs: new Map([['agent', programs]]),
  }
}
const said = (changes: Changes) =>
  podChecks(facts(changes))
    .filter(({ state }) => state !== 'ok')
    .map(({ state, name, found, remedy }) => `${state} ${name}: ${found} -> ${remedy}`)
    .join('\n')

describe('the checks of a pod', () => {
  test('report no problem for a governed, captured, current and ready pod', () => {
    expect(said({})).toBe('')
    expect(podChecks(facts()).length).toBeGreaterThan(5)
  })

  test.each<[string, Changes, RegExp]>([
    ['that names no Gateway', { annotations: {}, labels: {} }, /^warning governed: no/],
    [
      'that names one and has no sidecar',
      { labels: {} },
      /^problem governed: NO.*kubectl delete pod bot-1 -n team/,
    ],
    [
      'whose layer is only cooperative, with the clients that go around',
      { labels: { 'chaperone.dev/inject': 'injected', 'chaperone.dev/layer': 'Cooperative' } },
      /warning layer: Cooperative[\s\S]*stripe and ws: ignores the proxy variables/,
    ],
    [
      'whose sidecar is old',
      { image: 'registry.example/chaperone:0' },
      /outdated: .*chaperone:0.*rollout restart/,
    ],
    [
      'whose sidecar is not ready',
      { proxy: { ready: false, restartCount: 3 } },
      /problem sidecar: not ready, restarted 3 times/,
    ],
    [
      'whose sidecar says in its readiness probe why it is not ready',
      { proxy: { ready: false }, readiness: 'not yet: the control plane has sent no rules: EAI_AGAIN' },
      /problem sidecar: not ready: requests are refused, because the control plane has sent no rules: EAI_AGAIN ->/,
    ],
    [
      'whose rules could not be set, without saying that it is captured',
      {
        proxy: { ready: false },
        rules: {
          state: { waiting: {} },
          lastState: { terminated: { exitCode: 1, message: 'set net-raw = "true"\n' } },
        },
      },
      /^warning layer: not proven: [\s\S]*problem rules: the rules that redirect the traffic could not be set \(exit code 1\), so the agent does not start: set net-raw = "true" ->/,
    ],
    [
      'whose Gateway is in trouble',
      {
        conditions: [
          { type: 'KillSwitchActive', status: 'True', reason: 'Gateway', message: '1 of 1 stopped' },
        ],
      },
      /KillSwitchActive \(Gateway\): 1 of 1 stopped -> kubectl describe gateways.chaperone.dev main -n team/,
    ],
    ['with a client that has roots of its own', { programs: ['python3'] }, /agent: stripe: .*ca_bundle_path/],
    [
      'that changes its user',
      {
        annotations: {
          'chaperone.dev/gateway': 'main',
          'chaperone.dev/bypass-possible': 'spec.containers[0]: gosu',
        },
      },
      /warning user: .*gosu -> set runAsUser/,
    ],
  ])('report a pod %s', (_what, changes, wanted) => {
    expect(said(changes)).toMatch(wanted)
  })

  test('report a container that could not be inspected', () => {
    const checks = podChecks(facts({ programs: null }))
    expect(checks.find(({ name }) => name === 'agent')?.found).toContain('could not be listed')
  })
})
