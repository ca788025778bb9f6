import { expect, test } from 'vitest'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { type PodRuntime, resolveInterception } from '../../../core/inject/interception.ts'

const resolve = (spec: object, way: Partial<PodRuntime> = {}) => {
  const found = resolveInterception(GatewaySpec.parse(spec), { runtime: undefined, isolation: 'off', ...way })
  return found.kind === 'refused'
    ? `refused: ${found.refusal.field}: ${found.refusal.problem}; ${found.refusal.change}`
    : `${found.interception} ${found.layer} ${found.choice ?? '-'}`
}
const AUTO = { interception: 'auto' }
const GVISOR = { runtime: 'gvisor' } as const

test.each<[string, object, Partial<PodRuntime>, RegExp]>([
  ['auto on a Linux kernel', AUTO, {}, /^transparent Transparent interception auto chose transparent/],
  ['auto on a Linux kernel, isolated', AUTO, { isolation: 'stored' }, /^transparent Transparent /],
  [
    'auto under gVisor, isolated',
    AUTO,
    { ...GVISOR, isolation: 'stored' },
    /^proxyEnv IsolatedByNetworkPolicy .*can reach only the addresses that the sidecar can reach/,
  ],
  [
    'auto under gVisor, with autoAllows',
    { ...AUTO, autoAllows: ['proxyEnv'] },
    GVISOR,
    /^proxyEnv Cooperative .*spec\.autoAllows/,
  ],
  [
    'auto under gVisor, with both',
    { ...AUTO, autoAllows: ['proxyEnv'] },
    { ...GVISOR, isolation: 'stored' },
    /^proxyEnv IsolatedByNetworkPolicy /,
  ],
  [
    'auto under gVisor, with neither',
    AUTO,
    GVISOR,
    /^refused: spec\.runtimeClassName: .*autoAllows of the Gateway is empty; .*net-raw = "true".*networkPolicy\.proxyEnv/,
  ],
  [
    'auto under gVisor, before the policy is stored',
    AUTO,
    { ...GVISOR, isolation: 'pending' },
    /^refused: .*not stored it in this namespace yet; create the pod again/,
  ],
  [
    'auto under gVisor, strict',
    { ...AUTO, hardening: 'strict', autoAllows: ['proxyEnv'] },
    { ...GVISOR, isolation: 'stored' },
    /^refused: .*spec\.hardening strict does not allow proxyEnv; /,
  ],
  ['transparent under gVisor', {}, { ...GVISOR, isolation: 'stored' }, /^transparent Transparent -$/],
  ['proxyEnv', { interception: 'proxyEnv' }, {}, /^proxyEnv Cooperative -$/],
  [
    'proxyEnv before the policy is stored',
    { interception: 'proxyEnv' },
    { isolation: 'pending' },
    /^proxyEnv Cooperative -$/,
  ],
  [
    'proxyEnv, isolated',
    { interception: 'proxyEnv' },
    { isolation: 'stored' },
    /^proxyEnv IsolatedByNetworkPolicy -$/,
  ],
])('the interception of a pod: %s', (_what, spec, way, wanted) => {
  expect(resolve(spec, way)).toMatch(wanted)
})
