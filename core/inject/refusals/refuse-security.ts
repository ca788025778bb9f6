import type { SecurityContext } from '../pod.ts'
import { type Refusal, refusal } from './refusal.ts'

type Shared = Pick<
  SecurityContext,
  'seccompProfile' | 'appArmorProfile' | 'windowsOptions' | 'runAsUser' | 'seLinuxOptions'
>

/**
 * Returns the refusals for those fields of a security context that both pods and containers have, such as profiles, uid
 * and SELinux options.
 */
export function refuseSecurity(
  security: Shared | undefined,
  path: string,
  proxyUid: number,
): readonly Refusal[] {
  const refusals: (Refusal | null)[] = [
    security?.seccompProfile?.type === 'Unconfined'
      ? refusal(`${path}.seccompProfile.type`, 'is Unconfined', 'set RuntimeDefault or remove it')
      : null,
    security?.appArmorProfile?.type === 'Unconfined'
      ? refusal(`${path}.appArmorProfile.type`, 'is Unconfined', 'set RuntimeDefault or remove it')
      : null,
    security?.windowsOptions?.hostProcess === true
      ? refusal(`${path}.windowsOptions.hostProcess`, 'a host process runs outside the pod', 'remove it')
      : null,
    security?.runAsUser === proxyUid
      ? refusal(
          `${path}.runAsUser`,
          `the uid ${proxyUid} is the user of the proxy, whose traffic is not captured`,
          'choose another uid',
        )
      : null,
    seLinux(security, path),
  ]
  return refusals.filter((each) => each !== null)
}

/** SELinux types that a governed pod may use: those of PodSecurity `baseline`. */
export const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']

function seLinux(security: Shared | undefined, path: string): Refusal | null {
  const options = security?.seLinuxOptions
  if (options === undefined) return null
  const isCustom =
    !SELINUX_TYPES.includes(options.type ?? '') || Boolean(options.user) || Boolean(options.role)
  if (!isCustom) return null
  return refusal(
    `${path}.seLinuxOptions`,
    'the SELinux options set a custom type, user or role',
    'remove the options or use container_t',
  )
}
