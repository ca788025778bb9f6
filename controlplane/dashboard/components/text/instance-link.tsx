import { Anchor } from '@mantine/core'
import type { Instance } from '../../../../core/wire/gateway/instance.ts'
import { instanceText } from '../../labels/instance-text.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { UntrustedText } from './untrusted-text.tsx'

/**
 * Links to the traffic of an instance. The instance is identified by its claim if it has one, otherwise by its
 * Sandbox, otherwise by its pod.
 */
export function InstanceLink({ of }: { readonly of: Instance }) {
  return (
    <Anchor
      inherit
      underline="always"
      href={hrefOf('traffic', { instance: of.claim ?? of.sandbox ?? of.pod })}
    >
      <UntrustedText text={instanceText(of)} />
    </Anchor>
  )
}

/** Returns the link of an instance as a fact; null for a request from outside of a pod. */
export function instanceLink(instance: Instance | null | undefined) {
  return instance ? <InstanceLink of={instance} /> : null
}
