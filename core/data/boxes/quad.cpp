#include "core/data/boxes/quad.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ptrain {
namespace {

using Triangle = std::array<Point2d, 3>;

Point2d operator+(Point2d a, Point2d b) { return {a.x + b.x, a.y + b.y}; }
Point2d operator-(Point2d a, Point2d b) { return {a.x - b.x, a.y - b.y}; }
Point2d operator*(double factor, Point2d a) { return {factor * a.x, factor * a.y}; }
double dot(Point2d a, Point2d b) { return a.x * b.x + a.y * b.y; }
double length(Point2d a) { return std::hypot(a.x, a.y); }

/// Twice the signed area of the triangle.
double cross(Point2d a, Point2d b, Point2d c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

/// Of any polygon, by its corners' triangles with the first one.
double signed_area(std::span<const Point2d> polygon) {
  double twice = 0;
  for (std::size_t i = 2; i < polygon.size(); ++i) twice += cross(polygon[0], polygon[i - 1], polygon[i]);
  return twice / 2;
}

double distance_to_side(Point2d a, Point2d b, Point2d point) {
  const double squared = dot(b - a, b - a);
  const double share = squared > 0 ? std::clamp(dot(point - a, b - a) / squared, 0.0, 1.0) : 0;
  return length(point - (a + share * (b - a)));
}

bool cross_each_other(Point2d a, Point2d b, Point2d c, Point2d d) {
  return cross(a, b, c) * cross(a, b, d) < 0 && cross(c, d, a) * cross(c, d, b) < 0;
}

/// The part of a convex polygon to the left of the line from a to b (Sutherland and Hodgman 1974).
std::vector<Point2d> clip_polygon(const std::vector<Point2d>& polygon, Point2d a, Point2d b) {
  std::vector<Point2d> kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point2d from = polygon[i], to = polygon[(i + 1) % polygon.size()];
    const double from_side = cross(a, b, from), to_side = cross(a, b, to);
    if (from_side >= 0) kept.push_back(from);
    if ((from_side < 0) != (to_side < 0)) kept.push_back(from + from_side / (from_side - to_side) * (to - from));
  }
  return kept;
}

/// With the sign of both triangles' orientations.
double signed_intersection(const Triangle& a, Triangle b) {
  const double sign = signed_area(a) < 0 ? -1 : 1;
  if (signed_area(b) < 0) std::swap(b[1], b[2]);
  std::vector<Point2d> polygon(a.begin(), a.end());
  for (std::size_t i = 0; i < b.size(); ++i) polygon = clip_polygon(polygon, b[i], b[(i + 1) % b.size()]);
  return sign * std::abs(signed_area(polygon));
}

/// Counter-clockwise where the y axis points up, without corners on a line (Andrew 1979).
std::vector<Point2d> find_hull(std::span<const Point2d> points) {
  std::vector<Point2d> sorted(points.begin(), points.end());
  const auto is_before = [](Point2d a, Point2d b) { return a.x != b.x ? a.x < b.x : a.y < b.y; };
  std::ranges::sort(sorted, is_before);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() < 3) return sorted;
  std::vector<Point2d> hull;
  for (int half = 0; half < 2; ++half) {
    const std::size_t first = hull.size();
    for (const Point2d& point : sorted) {
      while (hull.size() >= first + 2 && cross(hull[hull.size() - 2], hull.back(), point) <= 0) hull.pop_back();
      hull.push_back(point);
    }
    hull.pop_back();  // the other half's first
    std::ranges::reverse(sorted);
  }
  return hull;
}

/// The rectangle around points whose first side is along a unit vector.
Quad surround(std::span<const Point2d> points, Point2d along) {
  const Point2d across{-along.y, along.x};
  constexpr double most = std::numeric_limits<double>::max();
  double left = most, right = -most, top = most, bottom = -most;
  for (const Point2d& point : points) {
    left = std::min(left, dot(point, along));
    right = std::max(right, dot(point, along));
    top = std::min(top, dot(point, across));
    bottom = std::max(bottom, dot(point, across));
  }
  const auto corner = [&](double x, double y) { return x * along + y * across; };
  return {corner(left, top), corner(right, top), corner(right, bottom), corner(left, bottom)};
}

}  // namespace

double compute_area(const Quad& quad) { return std::abs(signed_area(quad)); }

double compute_perimeter(const Quad& quad) {
  double sum = 0;
  for (std::size_t i = 0; i < quad.size(); ++i) sum += length(quad[(i + 1) % 4] - quad[i]);
  return sum;
}

bool has_crossing_sides(const Quad& quad) {
  return cross_each_other(quad[0], quad[1], quad[2], quad[3]) || cross_each_other(quad[1], quad[2], quad[3], quad[0]);
}

bool contains(const Quad& quad, Point2d point) {
  bool inside = false;
  for (std::size_t i = 0; i < quad.size(); ++i) {
    const Point2d a = quad[i], b = quad[(i + 1) % 4];
    if ((a.y > point.y) == (b.y > point.y)) continue;
    if (point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x)) inside = !inside;
  }
  return inside;
}

double compute_distance(const Quad& quad, Point2d point) {
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < quad.size(); ++i) {
    least = std::min(least, distance_to_side(quad[i], quad[(i + 1) % 4], point));
  }
  return least;
}

/// A polygon is the sum of its corners' triangles with the first one, by their signs, also where it is not convex.
double compute_intersection(const Quad& a, const Quad& b) {
  double sum = 0;
  for (std::size_t i = 2; i < a.size(); ++i) {
    for (std::size_t j = 2; j < b.size(); ++j) {
      const Triangle of_a{a[0], a[i - 1], a[i]}, of_b{b[0], b[j - 1], b[j]};
      sum += signed_intersection(of_a, of_b) * (signed_area(of_b) < 0 ? -1 : 1);
    }
  }
  return std::abs(sum);
}

Quad order_corners(const Quad& quad) {
  Quad sorted = quad;
  std::ranges::stable_sort(sorted, {}, &Point2d::x);
  if (sorted[1].y < sorted[0].y) std::swap(sorted[0], sorted[1]);
  if (sorted[3].y < sorted[2].y) std::swap(sorted[2], sorted[3]);
  return {sorted[0], sorted[2], sorted[3], sorted[1]};
}

Quad find_rectangle(std::span<const Point2d> points) {
  const std::vector<Point2d> hull = find_hull(points);
  Quad best = surround(hull, {1, 0});
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Point2d side = hull[(i + 1) % hull.size()] - hull[i];
    if (length(side) == 0) continue;
    const Quad around = surround(hull, 1 / length(side) * side);
    if (compute_area(around) < compute_area(best)) best = around;
  }
  return best;
}

Quad expand_rectangle(const Quad& rectangle, double distance) {
  const auto unit = [](Point2d side) { return length(side) > 0 ? 1 / length(side) * side : Point2d{}; };
  const Point2d along = distance * unit(rectangle[1] - rectangle[0]),
                across = distance * unit(rectangle[3] - rectangle[0]);
  return {rectangle[0] - along - across, rectangle[1] + along - across, rectangle[2] + along + across,
          rectangle[3] - along + across};
}

}  // namespace ptrain
