// Quadrilaterals around lines of text, and the rectangles that are found for them.
#pragma once

#include <array>
#include <span>

namespace ptrain {

struct Point2d {
  double x = 0, y = 0;

  bool operator==(const Point2d&) const = default;
};

/// Corners in their order along the sides, in either direction.
using Quad = std::array<Point2d, 4>;

/// In px^2. The sides must not cross.
double compute_area(const Quad& quad);
double compute_perimeter(const Quad& quad);
/// Whether opposite sides cross, so that the corners are in no order.
bool has_crossing_sides(const Quad& quad);
/// Whether a point is inside, by the parity of the sides to its right.
bool contains(const Quad& quad, Point2d point);
/// The distance of a point to the nearest side.
double compute_distance(const Quad& quad, Point2d point);
/// The area that both cover; neither may have crossing sides.
double compute_intersection(const Quad& a, const Quad& b);

/// The corners clockwise from the upper left one, as PaddleOCR orders them: of the two to the left the upper one is the
/// first and the lower one the last, of those to the right the upper one the second.
Quad order_corners(const Quad& quad);

/// The rectangle of the smallest area around at least one point: its corners in their order. Its first side is along
/// one of the convex hull's.
Quad find_rectangle(std::span<const Point2d> points);
/// A rectangle whose sides are moved outwards by `distance`.
Quad expand_rectangle(const Quad& rectangle, double distance);

}  // namespace ptrain
