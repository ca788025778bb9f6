import { Button, Stack, Text } from '@mantine/core'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { startProviderSignIn } from '../../session/provider-sign-in.ts'

/**
 * Renders the button that starts the sign-in at the identity provider. `setupToken`: token of an owner link, which
 * the user redeems after the sign-in.
 */
export function ProviderButton(props: {
  readonly name: string
  readonly setupToken: string | null
  readonly isAlone: boolean
}) {
  const { name, setupToken, isAlone } = props
  const leave = useMutation(() => startProviderSignIn(setupToken))
  return (
    <Stack gap="sm" mt="md">
      {leave.error === null ? null : <ErrorNote error={leave.error} />}
      <Button
        variant={isAlone ? 'filled' : 'default'}
        fullWidth
        loading={leave.isBusy}
        onClick={() => leave.run()}
        className="provider-button"
      >
        {`Continue with ${name}`}
      </Button>
      {isAlone ? null : (
        <Text c="dimmed" size="sm" ta="center">
          or with a password
        </Text>
      )}
    </Stack>
  )
}
