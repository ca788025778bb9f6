import { Checkbox } from '@mantine/core'

type Props = { readonly isAllowed: boolean; readonly onChange: (isAllowed: boolean) => void }

/** Renders the checkbox that allows a connector to reach private and loopback addresses. */
export function PrivateAddresses({ isAllowed, onChange }: Props) {
  return (
    <Checkbox
      label="Allow private addresses"
      description="For a self-hosted instance. Without this option, requests to private and loopback addresses are refused."
      checked={isAllowed}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}
