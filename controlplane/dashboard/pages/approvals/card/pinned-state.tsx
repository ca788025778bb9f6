import type { PinView } from '../../../../../core/wire/internal.ts'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/** What the request acts upon, and whether it can change after the answer. */
export function PinnedState({ pins = [] }: { readonly pins?: readonly PinView[] | undefined }) {
  if (pins.length === 0) return 'Not fixed: what the request acts upon may change after the answer.'
  return (
    <>
      {pins.map((pin) => (
        <div key={`${pin.action_type} ${pin.state}`}>
          {pin.state} of <code>{pin.action_type}</code>: <PinValue pin={pin} />
        </div>
      ))}
    </>
  )
}

function PinValue({ pin: { value, fixed_by } }: { readonly pin: PinView }) {
  if (value === null) return 'not fixed, it could not be read and may change after the answer'
  return (
    <>
      <code>
        <UntrustedText text={value} canGrow />
      </code>
      {fixed_by === 'request'
        ? ', named by the request, so that the provider refuses any other'
        : ', compared again right before the request is sent'}
    </>
  )
}
