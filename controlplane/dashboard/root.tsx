import { Center, Container } from '@mantine/core'
import { ErrorNote } from './components/layout/error-note.tsx'
import { LoadingSkeleton } from './components/layout/loading.tsx'
import { Frame } from './frame/frame.tsx'
import { LiveProvider } from './live/live-provider.tsx'
import { PendingProvider } from './live/pending-count.tsx'
import { preloadPage } from './pages/preload-page.ts'
import { SignInPage } from './pages/sign-in/sign-in-page.tsx'
import { finishProviderSignIn } from './session/provider-sign-in.ts'
import { fetchFirstUser, SessionProvider, useSessionState } from './session/session.tsx'

// Both requests start before the first render, in parallel with the chunk of the page, because most users are signed
// in and need the results. `Root` shows the errors of these requests.
const finished = finishProviderSignIn()
const first = finished.then(fetchFirstUser)
first.catch(() => undefined)
preloadPage(location.hash)

/** Shows the application to signed-in users and the sign-in page to others. */
export function Root() {
  const [state, reload] = useSessionState(first)
  switch (state.kind) {
    case 'loading':
      return (
        <Container size="sm" pt="xl">
          <LoadingSkeleton />
        </Container>
      )
    case 'unreachable':
      return (
        <Center mih="60vh" p="md" component="main">
          <ErrorNote error={state.error} onRetry={reload} />
        </Center>
      )
    case 'signed_out':
      return <SignInPage reason={state.reason} finished={finished} onSignedIn={reload} />
    case 'signed_in':
      return (
        <SessionProvider signedIn={state} onSignedOut={reload}>
          <LiveProvider>
            <PendingProvider>
              <Frame />
            </PendingProvider>
          </LiveProvider>
        </SessionProvider>
      )
    default:
      return state satisfies never
  }
}
