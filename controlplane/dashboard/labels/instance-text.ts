import type { Instance } from '../../../core/wire/gateway/instance.ts'

/** Formats the object that identifies an instance: its claim, else its Sandbox, else its pod. */
export function instanceText({ pod, sandbox, claim }: Instance): string {
  if (claim !== undefined) return `SandboxClaim ${claim}`
  return sandbox === undefined ? `Pod ${pod}` : `Sandbox ${sandbox}`
}
