import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../core/inject/pod.ts'
import { governedPod, proxy, rules, secure, UID } from './bypass-pods.ts'
import type { Guard } from './guard-world.ts'

/** Tests of pods that a RuntimeClass of gVisor runs. */
export function describeGvisorRuleSetter(guard: Guard): void {
  describe('the rule setter of gVisor', () => {
    const sandboxed = (name: string, change?: (pod: Pod) => void) =>
      governedPod(name, change, undefined, { runtimeClassName: 'sandboxed', runtime: 'gvisor' })

    it('is admitted with a RuntimeClass of gVisor, whose pods may also have that of runc', async () => {
      expect(await guard.create(sandboxed('sandboxed'))).toBeNull()
      expect(
        await guard.create(
          governedPod('as-runc', (pod) => {
            pod.spec.runtimeClassName = 'sandboxed'
          }),
        ),
      ).toBeNull()
    })

    it.each<[string, (pod: Pod) => void, string]>([
      ['without a RuntimeClass', (pod) => void delete pod.spec.runtimeClassName, 'chaperone-rules.command'],
      [
        'with a RuntimeClass of runc',
        (pod) => {
          pod.spec.runtimeClassName = 'plain'
        },
        'chaperone-rules.command',
      ],
      [
        'for another user',
        (pod) => {
          rules(pod)['command'] = ['/bin/sh', '/etc/chaperone/iptables.sh', '1000']
        },
        'chaperone-rules.command',
      ],
      [
        'with another program',
        (pod) => {
          rules(pod)['command'] = ['/bin/sh', '-c', 'true', String(UID)]
        },
        'chaperone-rules.command',
      ],
      [
        'with one more capability',
        (pod) =>
          secure(rules(pod), { capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_RAW', 'SETUID'] } }),
        'chaperone-rules.securityContext',
      ],
      [
        'as privileged',
        (pod) => secure(rules(pod), { privileged: true, allowPrivilegeEscalation: true }),
        'chaperone-rules.securityContext',
      ],
      [
        'with variables',
        (pod) => {
          rules(pod).env = [{ name: 'LD_PRELOAD', value: '/own/evil.so' }]
        },
        'chaperone-rules: in a pod with a RuntimeClass of gVisor',
      ],
      [
        'with a volume of the author',
        (pod) => {
          rules(pod).volumeMounts = [{ name: 'own', mountPath: '/usr/sbin' }]
        },
        'chaperone-rules: in a pod with a RuntimeClass of gVisor',
      ],
      [
        'with a proxy that counts on redirected IPv6',
        (pod) => {
          proxy(pod).env = proxy(pod).env?.filter(({ name }) => name !== 'IPV6_CLOSED') ?? []
        },
        'IPV6_CLOSED',
      ],
    ])('is refused %s', async (_, change, field) => {
      expect(await guard.create(sandboxed('around', change))).toContain(field)
    })

    it('is no reason for root in the rule setter of runc, or for a proxy that does not check IPv6', async () => {
      const asRoot = (pod: Pod) => {
        pod.spec.runtimeClassName = 'sandboxed'
        secure(rules(pod), { runAsUser: 0, runAsNonRoot: false })
      }
      expect(await guard.create(governedPod('as-root', asRoot))).toContain('chaperone-rules.securityContext')
      const unchecked = (pod: Pod) => proxy(pod).env?.push({ name: 'IPV6_CLOSED', value: 'true' })
      expect(await guard.create(governedPod('unchecked', unchecked))).toContain('IPV6_CLOSED')
    })
  })
}
