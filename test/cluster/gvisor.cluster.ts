import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { attempt, connect, PRIVILEGES, WAYS_OUT } from '../support/hostile-attempts.ts'
import { IS_FULL } from '../support/proof.ts'
import {
  agentPod,
  CALLS,
  CREDENTIAL,
  inAgent,
  inForce,
  leftOutside,
  type PodShape,
  podTemplate,
  startVendor,
  VENDOR,
  type Vendor,
} from './agents.ts'
import { installGvisor, RUNTIME_CLASSES, removeRuntimeClasses } from './gvisor/runtime.ts'
import { AGENTS, install } from './installation.ts'
import { apply, get, kube, refusalOf } from './kubectl.ts'

const { runtimeInstaller, hostAddress } = inject('installation').environment
const reason = !IS_FULL
  ? 'only with CHAPERONE_PROOF=full'
  : runtimeInstaller === null
    ? 'needs CHAPERONE_RUNTIME_INSTALLER'
    : null
const title = `gVisor${reason === null ? '' : ` (skipped: ${reason})`}`

/** A pod under gVisor, whose readiness shows that the node reaches a server of the agent. */
function gvisorPod(name: string, gateway: string, shape: PodShape = {}, runtimeClassName?: string) {
  const spec = { runtimeClassName: runtimeClassName ?? RUNTIME_CLASSES.raw, ...shape.spec }
  return agentPod(name, gateway, { ...shape, spec })
}

async function ready(...pods: readonly string[]): Promise<void> {
  const names = pods.map((name) => `pod/${name}`)
  await kube(['wait', '-n', AGENTS, '--for=condition=Ready', '--timeout=180s', ...names])
}

async function expectNothingLeft(pod: string): Promise<void> {
  expect((await leftOutside(pod)) ?? []).toEqual([])
}

async function python(pod: string, program: string): Promise<string> {
  const { stdout, stderr } = await inAgent(pod, ['python3', '-c', program])
  return `${stdout}${stderr}`.trim()
}

type Gateway = {
  readonly status?: {
    readonly layer?: string
    readonly conditions?: ReadonlyArray<{ type: string; status: string; reason: string; message: string }>
  }
}
const layerOf = async (gateway: string) => (await get<Gateway>('cgw', gateway, AGENTS))?.status?.layer

type Labelled = {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: { readonly initContainers: ReadonlyArray<{ readonly name: string }> }
}
const labelOf = async (pod: string) =>
  (await get<Labelled>('pod', pod, AGENTS))?.metadata.labels['chaperone.dev/layer']

describe.skipIf(reason !== null)(title, () => {
  beforeAll(async () => {
    await install(inject('installation'))
    console.log(`gVisor ${await installGvisor(runtimeInstaller ?? '')}`)
  }, 1_800_000)
  afterAll(async () => {
    await install(inject('installation'))
    await removeRuntimeClasses()
  }, 240_000)

  describe('on nodes with net-raw = "true"', () => {
    const GATEWAY = 'gvisor'
    let vendor: Vendor
    const server = {
      command: ['python3', '-m', 'http.server', '8888', '--directory', '/mnt'],
      container: { readinessProbe: { httpGet: { port: 8888 }, periodSeconds: 1 } },
    }
    beforeAll(async () => {
      vendor = await startVendor(GATEWAY)
      const user = { container: { ...server.container, securityContext: { runAsUser: 1000 } } }
      await apply(
        gvisorPod('gvisor-user', GATEWAY, { ...server, ...user }),
        gvisorPod('gvisor-root', GATEWAY, server),
      )
      await ready('gvisor-user', 'gvisor-root')
      await inForce(GATEWAY)
    }, 400_000)
    afterAll(async () => {
      await kube(['delete', 'pod/gvisor-user', 'pod/gvisor-root', '-n', AGENTS, '--ignore-not-found'])
      await vendor?.[Symbol.asyncDispose]()
    })

    describe.each([
      ['uid 1000', 'gvisor-user', '1000'],
      ['root', 'gvisor-root', '0'],
    ])('an agent as %s', (_who, pod, uid) => {
      test('runs under gVisor, is governed, and does not hold the credential', async () => {
        expect((await inAgent(pod, ['id', '-u'])).stdout.trim()).toBe(uid)
        expect((await inAgent(pod, ['dmesg'])).stdout).toContain('gVisor')
        const before = vendor.recorder.seen.length
        expect((await inAgent(pod, CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
        expect((await inAgent(pod, CALLS.python('DELETE'))).stdout).toMatch(/^403 /)
        expect(vendor.recorder.seen.length).toBe(before + 1)
        expect(vendor.recorder.seen.at(-1)?.header('authorization')).toBe(`Bearer ${CREDENTIAL}`)
        expect((await inAgent(pod, ['env'])).stdout).not.toContain(CREDENTIAL)
      })

      test.each(PRIVILEGES)('cannot %s', async (_what, statement) => {
        expect(await python(pod, attempt(statement))).not.toContain('DONE')
      })

      test.each(WAYS_OUT)('sends no packet by %s', async (_what, program) => {
        expect(await python(pod, program)).not.toContain("ANSWER b'h")
        await expectNothingLeft(pod)
      })

      test('does not reach the vendor past the sidecar, or the health port of the proxy', async () => {
        const before = vendor.recorder.seen.length
        const direct = await inAgent(pod, [
          ...['curl', '-sS', '-m', '5', '-k', '--noproxy', '*'],
          `https://${hostAddress}:${vendor.recorder.port}/things`,
        ])
        expect(direct.stdout).not.toContain('"ok":true')
        expect(await python(pod, connect('AF_INET', '127.0.0.1', 15_021))).not.toContain('DONE')
        expect(vendor.recorder.seen.length).toBe(before)
      })

      test('cannot flush the rules', async () => {
        const flush = 'iptables-legacy -F || iptables -F || nft flush ruleset || nft-cap flush ruleset'
        expect((await inAgent(pod, ['sh', '-c', flush])).code).not.toBe(0)
        expect((await inAgent(pod, CALLS.node('GET'))).stdout).toMatch(/^200/)
        await expectNothingLeft(pod)
      })
    })

    test('the Gateway says Captured, which the sidecars have proved', async () => {
      await eventually('the status', async () => ((await layerOf(GATEWAY)) === 'Captured' ? true : null))
      expect(await labelOf('gvisor-user')).toBe('Transparent')
    })
  })

  test('where nodes admit no raw sockets, kubectl describe of the pod and of the Gateway say what to do', async () => {
    const gateway = 'gvisor-no-raw'
    await using _vendor = await startVendor(gateway)
    await apply(gvisorPod(gateway, gateway, {}, RUNTIME_CLASSES.noRaw))
    const describePod = () => kube(['describe', 'pod', gateway, '-n', AGENTS])
    const says = /net-raw = "true" in runsc\.toml\. .*interception: proxyEnv/
    const described = await eventually(
      'the pod says so, as a message and as an Event',
      async () => {
        const text = await describePod()
        return /Message:.*net-raw/.test(text) && text.includes('CaptureFailed') ? text : null
      },
      120_000,
    )
    console.log(described)
    expect(described).toMatch(says)
    expect(described).toMatch(/Warning\s+CaptureFailed.*The agent of this pod does not start/)
    const ofGateway = await eventually(
      'the Gateway says so',
      async () => {
        const text = await kube(['describe', 'cgw', gateway, '-n', AGENTS])
        return text.includes('CaptureFailed') ? text : null
      },
      60_000,
    )
    expect(ofGateway).toMatch(says)
    expect(await layerOf(gateway)).toBe('Unproven')
    expect((await inAgent(gateway, ['true'])).code).not.toBe(0)
    await expectNothingLeft(gateway)
    await kube(['delete', `pod/${gateway}`, '-n', AGENTS, '--wait=false'])
  }, 300_000)

  describe('with interception auto', () => {
    const GATEWAY = 'gvisor-auto'
    const TEAM = 'gvisor-team'
    let vendor: Vendor
    beforeAll(async () => {
      vendor = await startVendor(GATEWAY, { interception: 'auto' })
    })
    afterAll(async () => {
      await kube(['delete', 'pod/gvisor-auto', `deployment/${TEAM}`, '-n', AGENTS, '--ignore-not-found'])
      await vendor?.[Symbol.asyncDispose]()
    })

    /** Its pods have an owner, whose Events tell what the injector decided. */
    const deployment = () => ({
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: TEAM, namespace: AGENTS } },
      spec: {
        selector: { matchLabels: { app: TEAM } },
        template: {
          metadata: { ...podTemplate(GATEWAY).metadata, labels: { app: TEAM } },
          spec: { ...podTemplate(GATEWAY).spec, runtimeClassName: RUNTIME_CLASSES.raw },
        },
      },
    })
    const describeOwners = () => kube(['describe', 'replicasets', '-l', `app=${TEAM}`, '-n', AGENTS])

    test('a pod is refused with the remedies while no NetworkPolicy isolates it', async () => {
      const refusal = await eventually(
        'the injector knows the Gateway',
        async () => {
          const text = await refusalOf(gvisorPod(GATEWAY, GATEWAY))
          return text?.includes('gVisor') === true ? text : null
        },
        30_000,
      )
      expect(refusal).toContain('spec.runtimeClassName')
      expect(refusal).toContain('net-raw = "true"')
      expect(refusal).toContain('networkPolicy.proxyEnv')
      await apply(deployment())
      const described = await eventually(
        'the owner says so',
        async () => {
          const text = await describeOwners()
          return text.includes('InjectionRefused') ? text : null
        },
        60_000,
      )
      expect(described).toMatch(/InjectionRefused.*gVisor.*net-raw = "true"/)
    })

    test('with the NetworkPolicy the pod gets proxyEnv, says so, and its direct calls do not leave', async () => {
      const { values } = inject('installation')
      const upstream = 'networkPolicy.proxyEnv.upstreams[0]'
      const isolated = {
        'networkPolicy.proxyEnv.enabled': 'true',
        [`${upstream}.cidr`]: `${hostAddress}/32`,
        [`${upstream}.ports[0]`]: String(vendor.recorder.port),
      }
      await install({
        values: [
          ...values,
          ...Object.entries(isolated).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
        ],
      })
      await eventually(
        'the pod is admitted',
        async () => ((await refusalOf(gvisorPod(GATEWAY, GATEWAY))) === null ? true : null),
        60_000,
      )
      await ready(GATEWAY)
      await inForce(GATEWAY)
      expect(await labelOf(GATEWAY)).toBe('IsolatedByNetworkPolicy')
      expect((await inAgent(GATEWAY, ['dmesg'])).stdout).toContain('gVisor')
      expect((await inAgent(GATEWAY, CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
      expect((await inAgent(GATEWAY, CALLS.node('DELETE'))).stdout).toMatch(/^403 /)
      for (const [what, program] of WAYS_OUT) {
        expect(await python(GATEWAY, program), what).not.toContain("ANSWER b'h")
        expect((await leftOutside(GATEWAY)) ?? [], what).toEqual([])
      }
      const direct = await inAgent(GATEWAY, [
        ...['curl', '-sS', '-m', '5', '-k', '--noproxy', '*', 'https://198.51.100.7/'],
      ])
      expect(direct.code).not.toBe(0)
      await expectNothingLeft(GATEWAY)
      // What the layer does not hold, as the documentation says.
      const past = await inAgent(GATEWAY, [
        ...['curl', '-sS', '-m', '5', '-k', '--noproxy', '*'],
        ...['--resolve', `${VENDOR}:${vendor.recorder.port}:${hostAddress}`],
        `https://${VENDOR}:${vendor.recorder.port}/things`,
      ])
      expect(past.stdout).toContain('"ok":true')
    }, 400_000)

    test('Events and the status of the Gateway say what was chosen', async () => {
      await kube(['rollout', 'restart', `deployment/${TEAM}`, '-n', AGENTS])
      await eventually(
        'the Event of the owner',
        async () => {
          const text = await describeOwners()
          return /InterceptionChosen.*interception auto chose proxyEnv.*gVisor/.test(text) ? true : null
        },
        60_000,
      )
      const status = await eventually('the status', async () => {
        const found = await get<Gateway>('cgw', GATEWAY, AGENTS)
        const possible = found?.status?.conditions?.find(({ type }) => type === 'BypassPossible')
        return possible?.reason === 'PodsIsolated' ? found?.status : null
      })
      expect(status?.layer).toBe('IsolatedByNetworkPolicy')
    })
  })
})
