import { describe, expect, it } from 'vitest'
import { CONTAINERS, VOLUMES } from '../../../core/capture/pod-contract.ts'
import { inject } from '../../../core/inject/inject.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { gateway, goldenPods, INJECT_OPTIONS, judge } from '../../support/golden-pods.ts'

const SHAPES = goldenPods()

describe('the shapes of pods that tenants bring', () => {
  it('are at least twenty, and none of them is left ungoverned', () => {
    expect(SHAPES.length).toBeGreaterThanOrEqual(20)
    for (const { name, expect: wanted } of SHAPES) expect('ungoverned' in wanted, name).toBe(false)
  })

  it.each(SHAPES.map((shape) => [shape.says, shape] as const))('%s', (_, shape) => {
    expect(judge(shape)).toEqual(shape.expect)
  })

  it.each(SHAPES.flatMap((shape) => ('injected' in shape.expect ? [[shape.name, shape] as const] : [])))(
    '%s is the same after a second pass',
    (_, shape) => {
      const once = (shape.expect as { injected: unknown }).injected
      const again = judge({ ...shape, pod: once, keepsUid: true })
      expect('injected' in again && again.injected).toEqual(once)
    },
  )
})

describe('the journal of a governed pod', () => {
  const [first] = SHAPES
  const dataOf = (audit: 'async' | 'sync') => {
    if (first === undefined) throw new Error('no shapes')
    const judged = judge({ ...first, gateway: { ...first.gateway, audit } })
    if (!('injected' in judged)) throw new Error(`${first.name} is not injected`)
    const { spec } = PodSchema.parse(judged.injected)
    return spec.volumes?.find(({ name }) => name === VOLUMES.data.name)
  }

  it('is in memory, and with audit: sync on the disk of the node', () => {
    const { name } = VOLUMES.data
    expect(dataOf('async')).toEqual({ name, emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } })
    expect(dataOf('sync')).toEqual({ name, emptyDir: { sizeLimit: '64Mi' } })
  })
})

describe('a governed pod', () => {
  const pods = SHAPES.flatMap(({ expect: wanted }) =>
    'injected' in wanted ? [PodSchema.parse(wanted.injected)] : [],
  )
  const user = (pod: (typeof pods)[number]) =>
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].filter(
      ({ name }) => !Object.values<string>(CONTAINERS).includes(name),
    )

  it('starts the rules, then the proxy, then everything else', () => {
    for (const pod of pods) {
      const names = (pod.spec.initContainers ?? []).map(({ name }) => name)
      const isCaptured = pod.metadata.labels?.['chaperone.dev/layer'] === 'Transparent'
      expect(names.slice(0, isCaptured ? 2 : 1)).toEqual(
        isCaptured ? ['chaperone-rules', 'chaperone-proxy'] : ['chaperone-proxy'],
      )
      expect(names.filter((name) => name.startsWith('chaperone-'))).toHaveLength(isCaptured ? 2 : 1)
    }
  })

  it('gives its own containers no capability but one, no way to gain more, and of our volumes the certificates alone', () => {
    const ours = new Set<string>(Object.values(VOLUMES).map(({ name }) => name))
    for (const container of pods.flatMap(user)) {
      expect(container.securityContext?.allowPrivilegeEscalation).toBe(false)
      expect(container.securityContext?.capabilities?.drop).toEqual(['ALL'])
      expect(container.securityContext?.capabilities?.add ?? ['NET_BIND_SERVICE']).toEqual([
        'NET_BIND_SERVICE',
      ])
      expect(container.volumeMounts?.filter(({ name }) => ours.has(name))).toEqual([
        { name: 'chaperone-trust', mountPath: '/etc/chaperone/trust', readOnly: true },
      ])
    }
  })

  it('points every variable of a client to the gateway', () => {
    for (const container of pods.flatMap(user)) {
      const env = new Map((container.env ?? []).map(({ name, value }) => [name, value]))
      expect(env.get('REQUESTS_CA_BUNDLE')).toBe('/etc/chaperone/trust/ca-bundle.crt')
      expect(env.get('NODE_EXTRA_CA_CERTS')).toBe('/etc/chaperone/trust/ca.crt')
      expect([undefined, 'http://127.0.0.1:15002']).toContain(env.get('https_proxy'))
      expect(env.get('HTTPS_PROXY')).toBe(env.get('https_proxy'))
    }
  })

  it('has a proxy with a uid that no other container of the pod has', () => {
    for (const pod of pods) {
      const proxy = pod.spec.initContainers?.find(({ name }) => name === CONTAINERS.proxy)
      const uid = proxy?.securityContext?.runAsUser
      expect(pod.metadata.annotations?.['chaperone.dev/proxy-uid']).toBe(String(uid))
      expect(user(pod).map(({ securityContext }) => securityContext?.runAsUser)).not.toContain(uid)
    }
  })
})

describe('the uid of the proxy', () => {
  const pod = (runAsUser: number) =>
    PodSchema.parse({ spec: { containers: [{ name: 'a', securityContext: { runAsUser } }] } })

  it('is another one if a container requests the chosen one', () => {
    const result = inject(pod(1_950_000_000), gateway('team', 'main'), INJECT_OPTIONS)
    expect(result.kind === 'injected' && result.pod.metadata.annotations?.['chaperone.dev/proxy-uid']).toBe(
      '1950000001',
    )
  })

  it('is never taken from a pod that only claims to have been injected', () => {
    const once = inject(pod(1), gateway('team', 'main'), INJECT_OPTIONS)
    if (once.kind !== 'injected') throw new Error('refused')
    const again = inject(once.pod, gateway('team', 'main'), { ...INJECT_OPTIONS, freshUid: 1_960_000_000 })
    expect(again.kind === 'injected' && again.pod.metadata.annotations?.['chaperone.dev/proxy-uid']).toBe(
      '1960000000',
    )
  })
})
