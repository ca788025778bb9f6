import { Stack } from '@mantine/core'
import type { PinView } from '../../../../../core/wire/gateway/internal.ts'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/**
 * Shows the state that the approval is bound to, such as the head commit, and whether the provider or the gateway
 * enforces this state.
 */
export function PinnedState({ pins = [] }: { readonly pins?: readonly PinView[] | undefined }) {
  if (pins.length === 0)
    return 'Not pinned: the approval is not bound to a state of the target, which can change before the request is sent.'
  return (
    <Stack gap={6}>
      {pins.map((pin) => (
        <div key={`${pin.action_type} ${pin.state}`}>
          {pin.state} of <code>{pin.action_type}</code>: <PinValue pin={pin} />
        </div>
      ))}
    </Stack>
  )
}

const FIXED_BY: Readonly<Record<string, string>> = {
  request: ' (set by the request; the provider refuses any other value)',
  gateway: ' (compared again before the request is sent; with another value, nothing is sent)',
}

function PinValue({ pin: { value, fixed_by } }: { readonly pin: PinView }) {
  if (value === null)
    return 'not pinned, because the state could not be read. The state can change after the approval.'
  return (
    <>
      <code>
        <UntrustedText text={value} canGrow />
      </code>
      {FIXED_BY[fixed_by ?? ''] ??
        ' (pinned in a way that this version cannot describe. The state can change after the approval.)'}
    </>
  )
}
