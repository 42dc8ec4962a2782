"""One robot's SLAM from its own scans and odometry, without ROS.

Use it like this::

    localizer = Localizer(LocalizationSettings())
    estimate = localizer.add(stamp, odometry, points, origin)  # one call per scan

`Estimate` says where the robot is (`pose`, `covariance`), how well it was matched (`status`,
`quality`, `residual`, `weak`, `drift`) and what happened to the map: `keyframe` (id of the
keyframe made of this scan), `loops`, `moved` (id → new pose of keyframes that moved noticeably
since last reported) and `removed` (ids that will never be reported again; a last correction of
them comes in `moved` of the same estimate). Ids are stable and ascend. Evidence belongs at the
pose last reported: `estimate.pose` for a new keyframe, `moved` afterwards.

Evidence is to be mapped only while `estimate.status.trusted`; when it is not, odometry bridges
the time, and no keyframe is made.

- `localizer.relocalize(hint, radius)`, `localizer.set_pose(pose, covariance)`
- `localizer.set_priors(priors)`: where keyframes are according to somebody else
- `localizer.transform(shift)` re-expresses everything in another frame
- `save(localizer)` → arrays; `restore(localizer, arrays)`
- `localizer.own.keyframes` holds ids, poses and surfels of all keyframes
- `offline.run(scans)` localises a log; `relation_error`, `trajectory_error` score it
"""

from delama_ros.localization.estimate import Estimate, Status
from delama_ros.localization.localizer import Localizer
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.state import restore, save

__all__ = ['Estimate', 'LocalizationSettings', 'Localizer', 'Status', 'restore', 'save']
