import { Checkbox } from '@mantine/core'

type Props = { readonly isAllowed: boolean; readonly onChange: (isAllowed: boolean) => void }

/** Renders the checkbox that allows a connector to send its credential without TLS. */
export function PlaintextCredential({ isAllowed, onChange }: Props) {
  return (
    <Checkbox
      label="Send the credential without TLS"
      description="The base URL uses plain HTTP: anyone on the network path can read the credential. Without this option, requests are refused."
      checked={isAllowed}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}
