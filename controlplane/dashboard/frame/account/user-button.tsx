import { ActionIcon } from '@mantine/core'
import { useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { lazyComponent } from '../../components/lazy/lazy-component.tsx'
import { useSession } from '../../session/session.tsx'

const UserMenu = lazyComponent(
  async () => (await import('../../dialogs.ts')).DIALOGS.UserMenu,
  <Button isWaiting />,
)

/** Who is signed in. The menu, with everything that places it, comes with the first click. */
export function UserButton() {
  const [isWanted, setIsWanted] = useState(false)
  return isWanted ? <UserMenu /> : <Button onClick={() => setIsWanted(true)} />
}

function Button({
  onClick,
  isWaiting = false,
}: {
  readonly onClick?: () => void
  readonly isWaiting?: boolean
}) {
  const { user } = useSession()
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={`Signed in as ${user.email}`}
      aria-haspopup="menu"
      loading={isWaiting}
      {...(onClick === undefined ? {} : { onClick })}
    >
      <Icon name="user" />
    </ActionIcon>
  )
}
