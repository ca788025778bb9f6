import { Anchor, AppShell } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect } from 'react'
import { PAGES } from '../pages/page-list.tsx'
import { usePageLocation } from '../routing/use-page-location.ts'
import { useSession } from '../session/session.tsx'
import { CurrentPage } from './current-page.tsx'
import { ForbiddenPage } from './forbidden-page.tsx'
import { HeaderBar } from './header-bar.tsx'
import { KillSwitchBanner } from './kill-switch/kill-switch-banner.tsx'
import { Navigation } from './navigation.tsx'
import { NavigationFoot } from './navigation-foot.tsx'

/** Renders the layout of every page: navigation, account menu, and kill switch. */
export function Frame() {
  const { may } = useSession()
  const { page } = usePageLocation()
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const pages = PAGES.filter(({ right }) => may(right))
  const requested = PAGES.find(({ path }) => path === page)
  const current = requested ?? pages[0]
  useEffect(() => {
    if (page !== '') close()
  }, [page, close])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <Anchor href="#page-title" className="skip-link" onClick={skipToPage}>
        Skip to the page
      </Anchor>
      <AppShell.Header>
        <HeaderBar pages={pages} isNavOpen={isOpen} onToggleNav={toggle} />
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <Navigation pages={pages} current={current?.path ?? ''} />
        <NavigationFoot />
      </AppShell.Navbar>
      <AppShell.Main className="main">
        <KillSwitchBanner />
        {current === undefined ? null : may(current.right) ? (
          <CurrentPage key={current.path} entry={current} />
        ) : (
          <ForbiddenPage title={current.title} right={current.right} />
        )}
      </AppShell.Main>
    </AppShell>
  )
}

/**
 * Moves the focus to the page title without following the link. The fragment of the URL holds the current page, so the link
 * must not change the fragment.
 */
function skipToPage(event: { preventDefault(): void }): void {
  event.preventDefault()
  document.getElementById('page-title')?.focus()
}
