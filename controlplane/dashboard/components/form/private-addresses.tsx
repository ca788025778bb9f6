import { Checkbox } from '@mantine/core'

type Props = { readonly isAllowed: boolean; readonly onChange: (isAllowed: boolean) => void }

/** Whether a connector may reach an upstream inside the network. */
export function PrivateAddresses({ isAllowed, onChange }: Props) {
  return (
    <Checkbox
      label="Allow private addresses"
      description="For a self-hosted instance: requests may go to a private or loopback address, which is refused otherwise."
      checked={isAllowed}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}
