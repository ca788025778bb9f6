import type { Instance } from '../../../core/wire/gateway/instance.ts'

/**
 * Returns the name of an instance: the name of its claim if it has one, otherwise of its Sandbox, otherwise of its
 * pod.
 */
export function instanceText({ pod, sandbox, claim }: Instance): string {
  if (claim !== undefined) return `SandboxClaim ${claim}`
  return sandbox === undefined ? `Pod ${pod}` : `Sandbox ${sandbox}`
}
