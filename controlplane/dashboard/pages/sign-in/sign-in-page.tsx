import {
  Anchor,
  Box,
  Button,
  Center,
  Group,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { call, type SignInReason } from '../../api/client.ts'
import type { SignInOptions } from '../../api/shapes.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Outline } from '../../components/layout/loading.tsx'
import { type AuthMode, authModeOf } from './auth-mode.ts'
import { ProviderButton } from './provider-button.tsx'

const NO_SECRET =
  'You are signed in, but this browser no longer has the secret that lets this page make changes. Sign in again.'

/** The way in: sign-in, the first owner, an invitation. */
export function SignInPage({
  why,
  finished,
  onSignedIn,
}: {
  readonly why: SignInReason
  /** The outcome of a sign-in through the identity provider that led back here. */
  readonly finished: Promise<ApiError | null>
  readonly onSignedIn: () => void
}) {
  const [way] = useState(() => authModeOf(location.pathname, location.search))
  const options = useOptions()
  const failure = useOutcome(finished)
  const hint = why === 'page_secret' && !way.isNew ? NO_SECRET : way.hint
  useEffect(() => {
    document.title = `${way.title} - Chaperone`
  }, [way])
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
          {way.title}
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
          <Outline />
        ) : (
          <SignInMethods options={options} way={way} onSignedIn={onSignedIn} />
        )}
      </Paper>
    </Center>
  )
}

/** The identity provider first; an invitation is for an account with a password. */
function SignInMethods(props: {
  readonly options: SignInOptions
  readonly way: AuthMode
  readonly onSignedIn: () => void
}) {
  const { options, way, onSignedIn } = props
  const { identity_provider: provider, password } = options
  const setupToken = way.tokens['setup_token'] ?? null
  const isOffered = provider !== null && way.tokens['invite_token'] === undefined
  return (
    <>
      {isOffered ? <ProviderButton name={provider.name} setupToken={setupToken} isAlone={!password} /> : null}
      {password ? <PasswordForm way={way} onSignedIn={onSignedIn} /> : null}
    </>
  )
}

function PasswordForm({ way, onSignedIn }: { readonly way: AuthMode; readonly onSignedIn: () => void }) {
  const enter = useMutation(async (fields: Fields) => {
    const login = { email: fields.email, password: fields.password }
    if (way.isNew) {
      await call('POST /api/auth/register', { body: { ...login, name: fields.name, ...way.tokens } })
    }
    await call('POST /api/auth/login', { body: login })
    // The token in the address has done its work.
    if (way.isNew) history.replaceState(null, '', `/${location.hash}`)
    onSignedIn()
  })
  return (
    <form onSubmit={(event) => submit(event, enter.run)}>
      <Stack gap="sm" mt="md">
        <Inputs isNew={way.isNew} />
        {enter.error === null ? null : <ErrorNote error={enter.error} />}
        <Button type="submit" fullWidth mt="xs" loading={enter.isBusy}>
          {way.isNew ? 'Register' : 'Sign in'}
        </Button>
        <Anchor size="sm" href={way.isNew ? '/' : '/setup'} ta="center">
          {way.isNew ? 'Sign in instead' : 'First time here? Register'}
        </Anchor>
      </Stack>
    </form>
  )
}

/** Null until they are known. Where they cannot be read, the form says what is wrong when it is sent. */
function useOptions(): SignInOptions | null {
  const [options, setOptions] = useState<SignInOptions | null>(null)
  useEffect(() => {
    call('GET /api/auth/options', {}).then(setOptions, () => setOptions(PASSWORD_ONLY))
  }, [])
  return options
}

const PASSWORD_ONLY: SignInOptions = { password: true, identity_provider: null }

function useOutcome(finished: Promise<ApiError | null>): ApiError | null {
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

function Inputs({ isNew }: { readonly isNew: boolean }) {
  return (
    <>
      <TextInput label="E-mail" name="email" type="email" autoComplete="username" required autoFocus />
      {isNew ? <TextInput label="Name" name="name" autoComplete="name" required /> : null}
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
