import {
  Anchor,
  Box,
  Button,
  Center,
  Code,
  Group,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import type { AuthOptionsReply } from '../../../../core/wire/access/sessions.ts'
import type { ApiError } from '../../api/api-error.ts'
import { call, type SignInReason } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { LoadingSkeleton } from '../../components/layout/loading.tsx'
import { type AuthMode, authModeOf } from './auth-mode.ts'
import { ProviderButton } from './provider-button.tsx'

const NO_SECRET =
  'You are signed in, but this browser has lost the secret that allows this page to make changes. Sign in again.'

/** Shows the forms for sign-in, for the registration of the first owner, and for invitations. */
export function SignInPage({
  reason,
  finished,
  onSignedIn,
}: {
  readonly reason: SignInReason
  /** Result of a sign-in at the identity provider that redirected to this page. */
  readonly finished: Promise<ApiError | null>
  readonly onSignedIn: () => void
}) {
  const [mode] = useState(() => authModeOf(location.pathname, location.search))
  const options = useOptions()
  const failure = useResult(finished)
  const hint = reason === 'page_secret' && !mode.isNew ? NO_SECRET : mode.hint
  useEffect(() => {
    document.title = `${mode.title} - Chaperone`
  }, [mode])
  return (
    <Center mih="100vh" p="md" component="main" className="sign-in">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <Group gap="xs" mb="lg">
          <span className="brand-mark">
            <Icon name="shield" size={26} />
          </span>
          <Text fw={700} size="lg">
            Chaperone
          </Text>
        </Group>
        <Title order={1} size="h3">
          {mode.title}
        </Title>
        {hint === '' ? null : (
          <Text c="dimmed" size="sm" mt={4}>
            {hint}
          </Text>
        )}
        {failure === null ? null : (
          <Box mt="md">
            <ErrorNote error={failure} title="You are not signed in" />
          </Box>
        )}
        {options === null ? (
          <LoadingSkeleton />
        ) : (
          <SignInMethods options={options} mode={mode} onSignedIn={onSignedIn} />
        )}
      </Paper>
    </Center>
  )
}

/**
 * Shows the sign-in through the identity provider first, then the sign-in by password. Invitations always use a
 * password.
 */
function SignInMethods(props: {
  readonly options: AuthOptionsReply
  readonly mode: AuthMode
  readonly onSignedIn: () => void
}) {
  const { options, mode, onSignedIn } = props
  const { identity_provider: provider, password } = options
  const setupToken = mode.tokens['setup_token'] ?? null
  const isOffered = provider !== null && mode.tokens['invite_token'] === undefined
  return (
    <>
      {isOffered ? <ProviderButton name={provider.name} setupToken={setupToken} isAlone={!password} /> : null}
      {password ? <PasswordForm mode={mode} onSignedIn={onSignedIn} /> : null}
    </>
  )
}

function PasswordForm({ mode, onSignedIn }: { readonly mode: AuthMode; readonly onSignedIn: () => void }) {
  const enter = useMutation(async (fields: Fields) => {
    const login = { email: fields.email, password: fields.password }
    if (mode.isNew) {
      await call('POST /api/auth/register', { body: { ...login, name: fields.name, ...mode.tokens } })
    }
    await call('POST /api/auth/login', { body: login })
    // Removes the redeemed token from the URL, so that the browser history does not keep it.
    if (mode.isNew) history.replaceState(null, '', `/${location.hash}`)
    onSignedIn()
  })
  return (
    <form onSubmit={(event) => submit(event, enter.run)}>
      <Stack gap="sm" mt="md">
        <Inputs mode={mode} />
        {enter.error === null ? null : <ErrorNote error={enter.error} />}
        <Button type="submit" fullWidth mt="xs" loading={enter.isBusy}>
          {mode.isNew ? 'Register' : 'Sign in'}
        </Button>
        <Anchor size="sm" href={mode.isNew ? '/' : '/setup'} ta="center">
          {mode.isNew ? 'Sign in instead' : 'First time here? Register'}
        </Anchor>
        {mode.isNew ? null : (
          <Text size="sm" c="dimmed" ta="center">
            Forgot your password? An administrator sets a new one: <Code>chaperone user reset-password</Code>
          </Text>
        )}
      </Stack>
    </form>
  )
}

/**
 * Returns the authentication modes of the control plane; null while the request is in flight. If the request fails,
 * the page shows the password form, which shows an error when the user submits it.
 */
function useOptions(): AuthOptionsReply | null {
  const [options, setOptions] = useState<AuthOptionsReply | null>(null)
  useEffect(() => {
    call('GET /api/auth/options', {}).then(setOptions, () => setOptions(PASSWORD_ONLY))
  }, [])
  return options
}

const PASSWORD_ONLY: AuthOptionsReply = {
  password: true,
  identity_provider: null,
  has_credentials: false,
}

function useResult(finished: Promise<ApiError | null>): ApiError | null {
  const [failure, setFailure] = useState<ApiError | null>(null)
  useEffect(() => {
    void finished.then(setFailure)
  }, [finished])
  return failure
}

type Fields = { readonly email: string; readonly name: string; readonly password: string }

function submit(event: FormEvent<HTMLFormElement>, run: (fields: Fields) => void): void {
  event.preventDefault()
  const data = new FormData(event.currentTarget)
  const text = (name: string) => String(data.get(name) ?? '')
  run({ email: text('email'), name: text('name'), password: text('password') })
}

function Inputs({ mode: { isNew, email = '' } }: { readonly mode: AuthMode }) {
  return (
    <>
      <TextInput
        label="E-mail"
        name="email"
        type="email"
        autoComplete="username"
        defaultValue={email}
        required
        autoFocus={email === ''}
      />
      {isNew ? (
        <TextInput label="Name" name="name" autoComplete="name" required autoFocus={email !== ''} />
      ) : null}
      <PasswordInput
        label="Password"
        name="password"
        autoComplete={isNew ? 'new-password' : 'current-password'}
        required
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password', tabIndex: 0 }}
        {...(isNew ? { minLength: 12, description: '12 characters or more' } : {})}
      />
    </>
  )
}
