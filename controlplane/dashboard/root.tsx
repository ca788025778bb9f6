import { Center, Container } from '@mantine/core'
import { ErrorNote } from './components/layout/error-note.tsx'
import { Outline } from './components/layout/loading.tsx'
import { Frame } from './frame/frame.tsx'
import { LiveProvider } from './live/live-provider.tsx'
import { preloadPage } from './pages/preload-page.ts'
import { SignInPage } from './pages/sign-in/sign-in-page.tsx'
import { finishProviderSignIn } from './session/provider-sign-in.ts'
import { fetchCurrentUser, SessionProvider, useSessionState } from './session/session.tsx'

// Asked before anything is drawn; whoever draws says what is wrong. The page comes beside it: most are signed in.
const finished = finishProviderSignIn()
const first = finished.then(fetchCurrentUser)
first.catch(() => undefined)
preloadPage(location.hash)

/** Who is there decides what is shown: the application, or the way in. */
export function Root() {
  const [state, ask] = useSessionState(first)
  switch (state.kind) {
    case 'asking':
      return (
        <Container size="sm" pt="xl">
          <Outline />
        </Container>
      )
    case 'unreachable':
      return (
        <Center mih="60vh" p="md" component="main">
          <ErrorNote error={state.error} onRetry={ask} />
        </Center>
      )
    case 'nobody':
      return <SignInPage why={state.why} finished={finished} onSignedIn={ask} />
    case 'user':
      return (
        <SessionProvider user={state.user} editing={state.editing} onSignedOut={ask}>
          <LiveProvider>
            <Frame />
          </LiveProvider>
        </SessionProvider>
      )
    default:
      return state satisfies never
  }
}
