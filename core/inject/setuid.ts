import type { Container, Pod } from './pod.ts'
import { everyContainer } from './refusals/reserved.ts'

/** Programs that change their user. They fail in a governed container, which lacks the required capabilities. */
const CHANGERS = [
  ...['gosu', 'su-exec', 'sudo', 'su', 'doas', 'runuser', 'setpriv', 'chpst', 'setuidgid', 's6-setuidgid'],
  's6-applyuidgid',
]
/** Images whose entrypoint changes its user if started as root. */
const CHANGING_IMAGES = [
  'postgres',
  'mysql',
  'mariadb',
  'mongo',
  'redis',
  'valkey',
  'rabbitmq',
  'nginx',
  'httpd',
]

/**
 * Returns the containers with programs that change their user, each as `CONTAINER: PROGRAM`, where CONTAINER is the
 * path of the container in the pod. These programs fail in a governed pod. The injector only warns about them, because
 * the capabilities that they need would allow a bypass of the capture.
 */
export function setuidNeeds(pod: Pod): readonly string[] {
  return everyContainer(pod).flatMap(({ path, container }) => {
    const need = neededBy(container, pod)
    return need === undefined ? [] : [`${path}: ${need}`]
  })
}

/** Returns the warning about one container of `setuidNeeds`, for the user who applied the pod. */
export function setuidWarning(need: string): string {
  return `${need} changes the user, which a governed container cannot do; set securityContext.runAsUser instead`
}

function neededBy({ command, args, image, securityContext }: Container, pod: Pod): string | undefined {
  const words = [...textsIn(command), ...textsIn(args)].flatMap((text) => text.split(/[\s;&|()]+/))
  const changer = words.map((word) => word.split('/').at(-1) ?? '').find((word) => CHANGERS.includes(word))
  if (changer !== undefined) return changer
  const user = securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser ?? 0
  const name = image
    ?.replace(/@.*$/, '')
    .replace(/:[^:/]*$/, '')
    .split('/')
    .at(-1)
  const isItsOwn = command === undefined && user === 0
  return isItsOwn && name !== undefined && CHANGING_IMAGES.includes(name) ? name : undefined
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((word) => typeof word === 'string') : []
}
