import { Checkbox } from '@mantine/core'

type Props = { readonly isAllowed: boolean; readonly onChange: (isAllowed: boolean) => void }

/** Whether the credential of a connector may cross the network in clear text. */
export function PlaintextCredential({ isAllowed, onChange }: Props) {
  return (
    <Checkbox
      label="Send the credential without TLS"
      description="The base URL is plain http: everybody on the network path can read the credential. It is refused otherwise."
      checked={isAllowed}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}
