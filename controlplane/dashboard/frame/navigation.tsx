import { Badge, NavLink } from '@mantine/core'
import { Icon } from '../components/layout/icon.tsx'
import { useResource } from '../live/use-resource.ts'
import { PAGE_GROUPS, type PageEntry } from '../pages/page-list.tsx'
import { preloadPage } from '../pages/preload-page.ts'
import { hrefOf } from '../routing/page-location.ts'

export function Navigation({
  pages,
  current,
}: {
  readonly pages: readonly PageEntry[]
  readonly current: string
}) {
  const { data } = useResource('GET /api/dashboard/overview', {}, { on: ['approvals'] })
  const pending = data?.pending_approvals ?? 0
  return PAGE_GROUPS.map((group) => {
    const members = pages.filter((page) => page.group === group)
    return members.length === 0 ? null : (
      <div key={group} className="nav-group">
        <div className="nav-heading" aria-hidden="true">
          {group}
        </div>
        <ul aria-label={group} className="nav-list">
          {members.map((page) => (
            <li key={page.path}>
              <PageLink
                page={page}
                isCurrent={page.path === current}
                pending={page.path === 'approvals' ? pending : 0}
              />
            </li>
          ))}
        </ul>
      </div>
    )
  })
}

function PageLink(props: {
  readonly page: PageEntry
  readonly isCurrent: boolean
  readonly pending: number
}) {
  const { page, isCurrent, pending } = props
  const href = hrefOf(page.path)
  return (
    <NavLink
      href={href}
      onPointerEnter={() => preloadPage(href)}
      onFocus={() => preloadPage(href)}
      label={page.title}
      active={isCurrent}
      aria-current={isCurrent ? 'page' : undefined}
      leftSection={<Icon name={page.icon} />}
      rightSection={
        pending > 0 ? (
          <Badge size="sm" className="tone tone-wait nav-count" aria-label={`${pending} pending`}>
            {pending}
          </Badge>
        ) : null
      }
      className="nav-link"
    />
  )
}
